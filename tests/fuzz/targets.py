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
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
from both_readers import READERS, agree, outcome

from swnn_xp import SWNNClassifier, SWNNRanker, load
from swnn_xp.cli import main as cli
from swnn_xp.io import FormatError, fast, read_xmc, write_xmc
from swnn_xp.io import files as streams
from swnn_xp.io.json_lines import iter_json_lines
from swnn_xp.model import files as files_of_models
from swnn_xp.store import manifest, open_arrays, opening
from swnn_xp.store.files import LazyNames, decode_names, encode_names
from swnn_xp.text.corpus import read_documents

X = np.array([[1.0, 2, 0, 0], [0, 1, 1, 0], [3, 0, 0, 0.5], [0, 0, 0, 0]])
Y = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1]])


@functools.cache
def folder() -> Path:
    """A folder with a model of each kind of file, and data; removed when the program ends."""
    memory = Path("/dev/shm")  # a file system in memory, where there is one
    kept = tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)
    folder.kept = kept
    path = Path(kept.name)
    names = {"label_names": ["a", "b", "c"], "row_names": list("uvwx")}
    for backend in ("numba", "numpy"):
        clf = SWNNClassifier(n_neighbors=2, backend=backend).fit(X, Y, **names)
        clf.save(path / backend)
    SWNNRanker(n_neighbors=2, backend="numba").fit(X, Y, **names).save(path / "ranker")
    write_xmc(path / "train.txt", X, Y)
    for suffix in ("txt", "jsonl", "csv", "tsv"):
        (path / f"fuzzed.{suffix}").touch()
    return path


@contextlib.contextmanager
def in_memory(data: bytes, suffix: str = "txt"):
    """The path of a file that has these bytes for whoever opens it as input."""
    path = folder() / f"fuzzed.{suffix}"  # whose first call writes files
    streams.open = lambda path, mode, closefd=True: io.BufferedReader(io.BytesIO(data))
    try:
        yield path
    finally:
        del streams.open


def readers(data: bytes) -> None:
    """Slow and fast reader: the same arrays, or the same refusal."""
    if len(data) < 2:
        return
    read, options = READERS[data[0] % len(READERS)]
    text = gzip.compress(data[2:], 1) if data[1] & 128 else data[2:]
    usual = fast._CHUNK, fast._ROWS
    fast._CHUNK, fast._ROWS = (4, 7, 64, 4096)[data[1] % 4], (2, 64)[data[1] >> 2 & 1]
    try:
        with in_memory(text) as path:
            agree(read, path, **options)
    finally:
        fast._CHUNK, fast._ROWS = usual


def compressed(data: bytes) -> None:
    """A file that pretends to be compressed: read, or refused."""
    with in_memory((b"\x1f\x8b\x08", b"\xfd7zXZ\x00")[len(data) % 2] + data) as path:
        outcome(read_xmc, path, engine="python")


def json_lines(data: bytes) -> None:
    """Objects, or a refusal with its line; a run that resumes after a block reads the rest."""
    with in_memory(data, "jsonl") as path, contextlib.suppress(FormatError):
        blocks = list(iter_json_lines(path, 2))
        for at, block in enumerate(blocks):
            assert list(iter_json_lines(path, 2, resume=block.end)) == blocks[at + 1 :]
        whole = [record for block in iter_json_lines(path, 1000) for record in block.records]
        assert whole == [record for block in blocks for record in block.records]


def documents(data: bytes) -> None:
    """Texts with labels from JSON lines, CSV or TSV, or a refusal; the texts become rows."""
    with in_memory(data[1:], ("jsonl", "csv", "tsv")[data[0] % 3 if data else 0]) as path:
        try:
            found = list(read_documents(path))
        except FormatError:
            return
    for document in found:
        assert document.labels is None or all(document.labels)
    rows = vectorizer().transform([document.text for document in found])
    assert rows.shape[0] == len(found)
    assert np.isfinite(rows.data).all()


@functools.cache
def vectorizer():
    from sklearn.feature_extraction.text import TfidfVectorizer

    from swnn_xp.text import TextVectorizer

    fitted = TfidfVectorizer(ngram_range=(1, 2)).fit(["a text of words", "more words, Straße İ"])
    return TextVectorizer.from_sklearn(fitted)


def names(data: bytes) -> None:
    """Names come back as they were, or are refused."""
    with contextlib.suppress(ValueError):
        found = decode_names(data, data.count(b"\n"))
        assert decode_names(encode_names(found), len(found)) == found


def use(path: Path) -> None:
    """Open a model and ask it; a ValueError is a refusal."""
    with contextlib.suppress(ValueError):
        ask(load(path))


def ask(clf) -> None:
    clf.predict_topk(X, k=2)
    clf.predict_proba(X)
    clf.explain(X[:1], 0)
    clf.partial_fit(X[:1], Y[:1]).compact()
    assert clf.label_names_ is None or len(clf.label_names_) == clf.n_labels_
    clf.model_.check()


@functools.cache
def files_of(kind: str) -> dict[Path, bytes]:
    """The files of a model, the manifest last."""
    paths = [*sorted((folder() / kind).glob("data-*/*")), folder() / kind / "manifest.json"]
    return {path: path.read_bytes() for path in paths}


@contextlib.contextmanager
def changed(kind: str):
    """A model whose manifest may be written over; it is put back after."""
    path = folder() / kind
    whole = files_of(kind)[path / "manifest.json"]
    try:
        yield path
    finally:
        (path / "manifest.json").write_bytes(whole)


def raw_manifest(data: bytes) -> None:
    """Any bytes in place of the manifest."""
    with changed("numpy") as path:
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
    with changed(("numba", "numpy", "ranker")[data[0] % 3]) as path:
        reseal(path, lambda document: put(document, data[1], value))
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


def put(document, number: int, value) -> None:
    """Replace one value of a document, at any depth."""
    found = list(places(document))
    node, key = found[number % len(found)]
    node[key] = value


def array_files(data: bytes) -> None:
    """A file of a model with some bytes written over it, or cut; the manifest knows its size."""
    if len(data) >= 5:
        write_over(SWNNClassifier, ("numba", "numpy")[data[0] % 2], data)


def ranker_files(data: bytes) -> None:
    """The same with a file of a ranked model."""
    if len(data) >= 5:
        write_over(SWNNRanker, "ranker", data)


def write_over(estimator, kind: str, data: bytes) -> None:
    """Open one file again, in memory, as it is after the change; use the model."""
    files = list(files_of(kind).items())[:-1]
    path, old = files[data[1] % len(files)]
    start = int.from_bytes(data[2:4], "little") % (len(old) + 1)
    rest = b"" if data[4] & 1 else old[start + len(data) - 5 :]
    with contextlib.suppress(ValueError):
        stored = reopened(kind, path, old[:start] + data[5:] + rest)
        with mock.patch.object(files_of_models, "open_arrays", return_value=stored):
            clf = estimator.load(path)
        ask(clf)


@functools.cache
def opened(kind: str):
    """A model's manifest, and what it lists."""
    return manifest.load(folder() / kind), open_arrays(folder() / kind)


def reopened(kind: str, path: Path, data: bytes):
    """A stored model of which one file has other bytes."""
    listed, known = opened(kind)
    if path.suffix == ".npy":
        entry = listed.arrays[path.stem]._replace(bytes=len(data))
        array = opening._array(path, io.BytesIO(data), entry, mmap=False)
        return replace(known, arrays=known.arrays | {path.stem: array})
    entry = listed.names[path.stem]
    load_names = functools.partial(opening._load_names, path, data, entry.n_names)
    others = {name: functools.partial(known.names.__getitem__, name) for name in known.names}
    return replace(known, names=LazyNames(others | {path.stem: load_names}))


WORDS = [
    "summarize", "tune", "fit", "predict", "score", "evaluate", "explain", "verify", "datasets",
    "backends", "twin", "TRAIN", "MODEL", "NUMPY", "OUT", "NONE", "FOLDER", "-o", "-k", "-S",
    "--alpha", "--beta", "--row", "--label", "--strict", "--format", "tsv", "jsonl", "--backend",
    "numpy", "numba", "--jobs", "--html", "--params", "--metric", "P@1", "PSP@3", "--holdout",
    "--folds", "--seed", "--propensity", "--rows", "0", "1", "2", "-1", "3", "0.5", "nan", "inf",
    "1e400", "P@0", "--",
    "99999999999999999999", "9223372036854775807", "a", "", "-", "--help", "\x00", "é",
]  # fmt: skip


@functools.cache
def parser():
    """The parser, made once; messages are not looked for in other languages."""
    os.environ["LANGUAGE"] = "C"
    return cli.make_parser()


def command_line(data: bytes) -> None:
    """Any arguments: an exit code of 0, 1 or 2, and no traceback."""
    base = folder()
    paths = {
        "TRAIN": base / "train.txt", "MODEL": base / "numba", "NUMPY": base / "numpy",
        "OUT": base / "out", "NONE": base / "none" / "such", "FOLDER": base,
    }  # fmt: skip
    argv = [WORDS[byte % len(WORDS)] for byte in data[:12]]
    argv = [str(paths.get(word, word)) for word in argv]
    before, parsed = os.getcwd(), parser()
    os.chdir(base)
    try:
        with (
            contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())),
            contextlib.redirect_stderr(io.StringIO()),
            mock.patch.object(cli, "make_parser", return_value=parsed),
        ):
            status = cli.main(argv)
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

    from swnn_xp.bulk.records import KnownFeatures
    from swnn_xp.serve.refusal import HTTPRefusal
    from swnn_xp.serve.rows import to_query
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


ODD = [
    0, 1, 2, 3, 4, -1, 2**31 - 1, 2**31, 2**63, 2**64, 10**40, 0.5, -0.0, 1e-320, 1e308, "a", "b",
    "z", "", "3", None, True, [], {},
]  # fmt: skip


def http_rows(data: bytes) -> None:
    """A body of the right form with a row of odd values: the first byte says in which fields."""
    values = [ODD[byte % len(ODD)] for byte in data[1:]]
    middle = (len(values) + 1) // 2
    names = map(str, values[:middle])
    fields = {
        "indices": values[:middle],
        "values": values[middle:],
        "features": dict(zip(names, values[middle:], strict=False)) if len(data) % 2 else values,
        "text": values[-1] if values else None,
    }
    bits = data[0] if data else 0
    row = {name: fields[name] for bit, name in enumerate(fields) if bits >> bit & 1}
    http_body(json.dumps({"rows": [row], "k": (5, *ODD)[bits >> 4]}).encode())


@functools.cache
def served():
    return SWNNClassifier.load(folder() / "numba").session()


TARGETS = {
    target.__name__: target
    for target in (
        readers, compressed, json_lines, documents, names, raw_manifest, sealed_manifest,
        array_files, ranker_files, command_line, http_body, http_rows,
    )
}  # fmt: skip
