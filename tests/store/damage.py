"""Use models whose files are damaged or forged; run as a program, for it may crash.

python damage.py SEED COUNT: each round alters one array of a model and gives it a right checksum,
so that only the checks of the arrays stand between it and the kernels. Whatever opens is used in
every way. A ValueError is a refusal, an answer is an answer, all else is a failure. Arrays
end at a page that must not be touched. With NUMBA_BOUNDSCHECK=1 every access of compiled code is
checked too.
"""

from __future__ import annotations

import collections
import ctypes
import mmap
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import promises

from swnn_xp import SWNNClassifier, SWNNRanker, load
from swnn_xp.store import open_arrays, opening, save_arrays

PAGE = mmap.PAGESIZE
HOW_OFTEN = [0.08, 0.2, 0.2, 0.16, 0.08, 0.08, 0.04, 0.16]
ID_ARRAYS = {
    "index_list_rows", "index_forward_hi", "index_indices", "labels_indices",
    "learned_indptr", "learned_features", "learned_tables", "learned_calibration_ends", "values",
    "learned_neighbour_rows", "learned_neighbours",
}  # fmt: skip
KINDS = ("numba", "ranked", "long", "numpy", "ranked numpy", "calibrated")
WORDS = [0, 1, -1, 2**15, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, -(2**63), 700, 40]


def fenced(array):
    """Copy an array to the end of memory behind which lies a page that can't be touched."""
    room = -(-array.nbytes // PAGE) * PAGE
    memory = mmap.mmap(-1, room + PAGE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(address + room), ctypes.c_size_t(PAGE), 0) == 0
    copy = np.frombuffer(memory, array.dtype, array.size, room - array.nbytes).reshape(array.shape)
    copy[...] = array
    copy.flags.writeable = False
    return copy


def models(folder):
    """Save models of each kind; queries of common features, of rare ones, and of both.

    "numba" and "long" have lists and bitmaps, and "long" is worked on in two chunks of rows.
    """
    rng = np.random.default_rng(5)
    width = np.minimum(1, 4 / np.arange(1, 121))
    X = sp.csr_array(rng.random((17_000, 120)) * (rng.random((17_000, 120)) < width))
    Y = sp.random_array((17_000, 12), density=0.1, rng=rng, format="csr") != 0
    names = {"label_names": [f"label {i}" for i in range(12)]}
    for kind, n in (("numba", 700), ("long", 17_000), ("numpy", 700)):
        backend = "numba" if kind == "long" else kind
        clf = SWNNClassifier(n_neighbors=7, backend=backend).fit(X[:n], Y[:n], **names)
        clf.remove([3, 80]).save(folder / kind)
    clf = SWNNClassifier(n_neighbors=7, calibrate=True, threshold="f1").fit(X[:700], Y[:700])
    clf.save(folder / "calibrated")
    for kind, backend in (("ranked", "numba"), ("ranked numpy", "numpy")):
        clf = SWNNRanker(n_neighbors=7, backend=backend).fit(X[:700], Y[:700], **names)
        clf.remove([3, 80]).save(folder / kind)
    stored = SWNNClassifier.load(folder / "numba").model_.segments[0].kernel_index.stored
    assert min(stored.frequent_features.size, stored.list_rows.size) > 0
    rare = sp.csr_array((np.diff(stored.list_indptr) > 0).astype(float)[None, :])
    return sp.csr_array(sp.vstack([X[:3], X[:2] * rare]))


def altered(rng, array):
    """Alter a copy of an array: a bit, words, a run, its order, its length or its shape."""
    copy = array.copy()
    raw = copy.reshape(-1).view(np.uint8)
    how = rng.choice(8, p=HOW_OFTEN)
    if not copy.size or how == 0:
        return np.resize(copy, rng.integers(0, 2 * copy.size + 3)).astype(copy.dtype)
    if how == 1:
        raw[rng.integers(raw.size)] ^= np.uint8(1 << rng.integers(8))
    elif how == 2:
        for _ in range(rng.integers(1, 9)):
            word = np.array([WORDS[rng.integers(len(WORDS))]]).astype(copy.dtype)
            copy.reshape(-1)[rng.integers(copy.size)] = word[0]
    elif how == 3:
        start, length = rng.integers(raw.size), rng.integers(1, 5000)
        raw[start : start + length] = (0, 255, rng.integers(256))[rng.integers(3)]
    elif how == 4:
        raw[:] = rng.integers(0, 256, raw.size)
    elif how == 5:
        rng.shuffle(copy)
    elif how == 6:
        return copy.reshape((1, *copy.shape)) if rng.random() < 0.5 else copy.reshape(-1)
    else:
        small = rng.integers(0, 2000, copy.size).astype(copy.dtype)
        return small.reshape(copy.shape)
    return copy


def within_cap(clf, Q):
    """Ask a session that reads few postings."""
    session = clf.session(postings=30)
    for row in range(Q.shape[0]):
        query = Q[[row]]
        query.sort_indices()
        session.predict_one(query.indices, query.data)


def used(path, Q, **options):
    """Open a model and use it in every way; the number of steps before one was refused."""
    steps = [
        lambda clf: clf.kneighbors(Q),
        lambda clf: clf.predict_topk(Q, 3),
        lambda clf: clf.predict_proba(Q).toarray(),
        lambda clf: clf.kneighbors(Q, n_neighbors=700),  # by the reference kernel
        lambda clf: clf.explain(Q[[0]], 3),
        lambda clf: clf.backend_ == "numba" and clf.session().predict_one([0, 9], [1.0, 2.0]),
        lambda clf: clf.backend_ == "numba" and within_cap(clf, Q),
        lambda clf: clf.topk_probabilities(Q, 3),
        lambda clf: clf.predict(Q),
        lambda clf: clf.partial_fit(Q, np.eye(5, 12)).predict_topk(Q, 3),
        lambda clf: isinstance(clf, SWNNRanker) and clf.relearn().predict_topk(Q, 3),
        lambda clf: clf.remove([0]).compact().predict_topk(Q, 3),
    ]
    try:
        clf = load(path, **options)
    except ValueError:
        return -1
    refused = 0
    for step in steps:
        try:
            step(clf)
        except ValueError:
            refused += 1
    return refused


def main():
    seed, count = map(int, sys.argv[1:])
    os.fsync = lambda _: None  # the disk is not what is tried here
    results = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        Q = models(folder)
        mapped, opening._array = opening._array, lambda *args, **kw: fenced(mapped(*args, **kw))
        stored = {kind: open_arrays(folder / kind) for kind in KINDS}
        for kind in stored:
            assert used(folder / kind, Q) == 0
        for number in range(seed, seed + count):
            rng = np.random.default_rng(number)
            kind = KINDS[number % len(KINDS)]
            model = stored[kind]
            arrays = dict(model.arrays)
            # Ids, which are checked late, are altered more often than pointers.
            names = [*arrays, *sorted(ID_ARRAYS & set(arrays)) * 4]
            which = names[rng.integers(len(names))]
            arrays[which] = altered(rng, arrays[which])
            path = folder / "altered"
            print(f"seed {number}: {kind} {which}", file=sys.stderr, flush=True)
            save_arrays(path, arrays, model.meta, dict(model.names))
            options = {"backend": ("auto", "auto", "numba", "numpy")[rng.integers(4)]}
            found = used(path, Q, **options)
            results[
                "refused on opening" if found < 0 else "refused later" if found else "used"
            ] += 1
    figure = ", ".join(f"{count:,} {what}" for what, count in sorted(results.items()))
    print(figure)
    if os.environ.get("WRITE"):
        promises.keep("damage", f"{count:,} models: {figure}; no crash")


if __name__ == "__main__":
    main()
