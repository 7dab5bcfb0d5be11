"""What is fuzzed: each target takes bytes and raises if the library misbehaves on them.

Misbehaving is any exception but the refusals that the library documents, and any disagreement. The
same targets are driven by hypothesis (`test_targets.py`) and by atheris (`run_atheris.py`).
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import io
import json
import os
import shutil
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
from both_readers import READERS, agree, outcome

from swnn_xp import SWNNClassifier
from swnn_xp.cli.main import main
from swnn_xp.io import fast, read_xmc, write_xmc
from swnn_xp.store import manifest
from swnn_xp.store.names import decode_names, encode_names

X = np.array([[1.0, 2, 0, 0], [0, 1, 1, 0], [3, 0, 0, 0.5], [0, 0, 0, 0]])
Y = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1]])


@functools.cache
def folder() -> Path:
    """A folder with a model of each kind of file, and data; removed when the program ends."""
    kept = tempfile.TemporaryDirectory()
    folder.kept = kept
    path = Path(kept.name)
    names = {"label_names": ["a", "b", "c"], "row_names": list("uvwx")}
    for backend in ("numba", "numpy"):
        clf = SWNNClassifier(n_neighbors=2, backend=backend).fit(X, Y, **names)
        clf.save(path / backend)
    write_xmc(path / "train.txt", X, Y)
    return path


def readers(data: bytes) -> None:
    """Slow and fast reader: the same arrays, or the same refusal."""
    if len(data) < 2:
        return
    read, options = READERS[data[0] % len(READERS)]
    path = folder() / "fuzzed.txt"
    path.write_bytes(gzip.compress(data[2:], 1) if data[1] & 128 else data[2:])
    with mock.patch.object(fast, "_CHUNK", (4, 7, 64, 4096)[data[1] % 4]):
        agree(read, path, **options)


def compressed(data: bytes) -> None:
    """A file that pretends to be compressed: read, or refused."""
    path = folder() / "fuzzed.gz"
    path.write_bytes((b"\x1f\x8b\x08", b"\xfd7zXZ\x00")[len(data) % 2] + data)
    outcome(read_xmc, path, engine="python")


def names(data: bytes) -> None:
    """Names come back as they were, or are refused."""
    with contextlib.suppress(ValueError):
        found = decode_names(data, data.count(b"\n"))
        assert decode_names(encode_names(found), len(found)) == found


def use(path: Path) -> None:
    """Open a model and ask it; a ValueError is a refusal."""
    with contextlib.suppress(ValueError):
        clf = SWNNClassifier.load(path)
        clf.predict_topk(X, k=2)
        clf.predict_proba(X)
        clf.explain(X[:1], 0)
        clf.partial_fit(X[:1], Y[:1]).compact()
        assert clf.label_names_ is None or len(clf.label_names_) == clf.n_labels_
        clf._model.check()


@contextlib.contextmanager
def copied(kind: str):
    path = folder() / "copy"
    shutil.copytree(folder() / kind, path)
    try:
        yield path
    finally:
        shutil.rmtree(path)


def raw_manifest(data: bytes) -> None:
    """Any bytes in place of the manifest."""
    with copied("numpy") as path:
        (path / "manifest.json").write_bytes(data)
        use(path)


def sealed_manifest(data: bytes) -> None:
    """A manifest with one value replaced by some JSON, and a right checksum."""
    if len(data) < 3:
        return
    try:
        value = json.loads(data[2:])
    except (ValueError, RecursionError):
        return
    with copied(("numba", "numpy")[data[0] % 2]) as path:
        reseal(path, lambda document: replace(document, data[1], value))
        use(path)


def reseal(path: Path, change) -> None:
    file = path / "manifest.json"
    document = json.loads(file.read_text())
    document.pop("sha256")
    change(document)
    try:
        document["sha256"] = manifest._checksum(document)
        file.write_text(json.dumps(document))
    except ValueError:  # an infinite number: no manifest has that
        file.write_text("{}")


def places(node):
    for key, value in sorted(node.items()):
        yield node, key
        if isinstance(value, dict):
            yield from places(value)


def replace(document, number: int, value) -> None:
    """Replace one value of a document, at any depth."""
    found = list(places(document))
    node, key = found[number % len(found)]
    node[key] = value


def array_files(data: bytes) -> None:
    """A file of a model with some bytes written over it, or cut; the manifest knows its size."""
    if len(data) < 5:
        return
    with copied(("numba", "numpy")[data[0] % 2]) as path:
        files = sorted((path).glob("data-*/*"))
        file = files[data[1] % len(files)]
        old = file.read_bytes()
        start = int.from_bytes(data[2:4], "little") % (len(old) + 1)
        rest = b"" if data[4] & 1 else old[start + len(data) - 5 :]
        file.write_bytes(old[:start] + data[5:] + rest)

        def change(document):
            group = document["arrays" if file.suffix == ".npy" else "names"]
            group[file.stem]["bytes"] = file.stat().st_size

        reseal(path, change)
        use(path)


WORDS = [
    "summarize", "tune", "fit", "predict", "score", "evaluate", "explain", "verify", "datasets",
    "backends", "twin", "TRAIN", "MODEL", "NUMPY", "OUT", "NONE", "FOLDER", "-o", "-k", "-S",
    "--alpha", "--beta", "--row", "--label", "--strict", "--format", "tsv", "jsonl", "--backend",
    "numpy", "numba", "--jobs", "--html", "--params", "--metric", "P@1", "PSP@3", "--holdout",
    "--folds", "--seed", "--propensity", "--rows", "0", "1", "2", "-1", "3", "0.5", "nan", "inf",
    "1e400", "P@0", "--",
    "99999999999999999999", "9223372036854775807", "a", "", "-", "--help", "\x00", "é",
]  # fmt: skip


def command_line(data: bytes) -> None:
    """Any arguments: an exit code of 0, 1 or 2, and no traceback."""
    base = folder()
    paths = {
        "TRAIN": base / "train.txt", "MODEL": base / "numba", "NUMPY": base / "numpy",
        "OUT": base / "out", "NONE": base / "none" / "such", "FOLDER": base,
    }  # fmt: skip
    argv = [WORDS[byte % len(WORDS)] for byte in data[:12]]
    argv = [str(paths.get(word, word)) for word in argv]
    before = os.getcwd()
    os.chdir(base)
    try:
        with (
            contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            status = main(argv)
    except SystemExit as end:
        status = end.code
    finally:
        os.chdir(before)
        for path in (base / "out", base / "out.partial", base / "out.journal"):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(True)
    assert status in (0, 1, 2), (argv, status)


def http_body(data: bytes) -> None:
    """Any body: a row that a session takes, or a refusal."""
    import msgspec

    from swnn_xp.serve.refusal import HTTPRefusal
    from swnn_xp.serve.rows import KnownFeatures, to_query
    from swnn_xp.serve.wire import decode_request

    try:
        request = decode_request(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return
    session = served()
    for number, row in enumerate(request.rows):
        with contextlib.suppress(HTTPRefusal):
            query = to_query(row, number, KnownFeatures(X.shape[1], {"a": 0, "b": 3}), 20)
            session.predict_one(query.indices, query.values, min(request.k, 9))


@functools.cache
def served():
    return SWNNClassifier.load(folder() / "numba").session()


TARGETS = {
    target.__name__: target
    for target in (
        readers, compressed, names, raw_manifest, sealed_manifest, array_files, command_line,
        http_body,
    )
}  # fmt: skip
