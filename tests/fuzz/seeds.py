"""Inputs to begin with: right ones, from which both fuzzers go astray."""

from __future__ import annotations

import functools
import gzip
import itertools
import json
from pathlib import Path

from both_readers import READERS
from fuzz.targets import WORDS, folder

ROWS = b"0,2 1:0.5 3:1\n 0:2 2:-1e-3\n1 2:1.25E+2 # x\n\n2\t3:7\r\n"


CORPUS = Path(__file__).parent / "corpus"


@functools.cache
def seeds(target: str) -> list[bytes]:
    """Some inputs of a target, and those that earlier runs have found, one in hex on each line."""
    file = CORPUS / f"{target}.txt"
    found = file.read_text().split() if file.exists() else []
    return SEEDS[target]() + [bytes.fromhex(line) for line in found]


def _readers() -> list[bytes]:
    files = [b"3 4 3\n" + ROWS, ROWS, b"\xef\xbb\xbf5 4 3\n" + ROWS, b"1 9 9\n1 3:1\n"]
    return [bytes([i, i]) + file for i, file in itertools.product(range(len(READERS)), files)]


def _sealed() -> list[bytes]:
    values = [0, 1, -1, 2**31, 2**63, 2**64, 1.5, 1e300, None, True, "", "x", [], [2, 2], {}, "<f8"]
    return [bytes([i % 2, i]) + json.dumps(v).encode() for i in range(120) for v in values]


def _arrays() -> list[bytes]:
    texts = [b"\xff" * 8, b"\0" * 400, b"{'descr': '<i8', 'fortran_order': False, 'shape': (9,), }"]
    return [
        bytes([kind, file, at & 255, at >> 8, cut]) + text
        for kind, file, at, cut, text in itertools.product(
            range(2), range(18), (0, 10, 128, 140), range(2), texts
        )
    ]


def _texts() -> list[bytes]:
    lines = [
        b'{"text": "more words", "labels": ["a", 3, {"uri": "<u>"}], "id": 7}\n\n{"text": null}\n',
        b'text,labels,id\n"a, text",a;b,1\nof words,,\n', b"a text\t<u> <v>\nwords\n",
        b"\xef\xbb\xbf", b'{"text": "\\ud800 \\u0130"}', b'text\n"open', b'{"text": 1}',
        b'{"id": NaN}', b"[" * 3000,
    ]  # fmt: skip
    return [bytes([kind]) + line for kind in range(3) for line in lines]


def _commands() -> list[bytes]:
    lines = [
        "fit TRAIN -o OUT -S 2", "predict MODEL TRAIN -k 2", "predict MODEL TRAIN -o OUT --rows 1",
        "predict MODEL TRAIN TRAIN -o OUT --rows 1 --format jsonl", "predict MODEL NONE -o OUT",
        "evaluate NUMPY TRAIN", "explain MODEL TRAIN --row 1", "verify MODEL", "summarize TRAIN",
        "tune TRAIN --holdout 0.5", "predict MODEL TRAIN -k 99999999999999999999", "datasets",
        "tune TRAIN --holdout inf",
        "predict MODEL TRAIN --alpha nan", "explain MODEL TRAIN --row 3 --label a", "verify NONE",
        "predict MODEL TRAIN -S 9223372036854775807", "fit TRAIN -o FOLDER", "backends",
    ]  # fmt: skip
    return [bytes(WORDS.index(word) for word in line.split(" ")) for line in lines]


def _bodies() -> list[bytes]:
    rows = [
        {"indices": [0, 3], "values": [1, 2.5]}, {"indices": [3, 1, 3]}, {"features": ["a", "z"]},
        {"features": {"a": 1e308, "b": -1}}, {"indices": [2**31 - 2]}, {},
        {"indices": [0, 0], "values": [1e308, 1e308]}, {"indices": [1], "features": []},
    ]  # fmt: skip
    return [json.dumps({"rows": [row], "k": 3}).encode() for row in rows] + [b"\xff", b"[", b""]


SEEDS = {
    "readers": _readers,
    "compressed": lambda: [gzip.compress(b"1 4 3\n0 1:1\n")[3:], b"", b"\0" * 40],
    "json_lines": lambda: [text[1:] for text in _texts()] + [b'{"a": 1}\n' * 5 + b"\r\n {}"],
    "documents": _texts,
    "names": lambda: [b"a\nb\n", b"\\n\n", b"\\q\n", b"\xff\n"],
    "raw_manifest": lambda: [(folder() / "numpy" / "manifest.json").read_bytes(), b"[" * 2000],
    "sealed_manifest": _sealed,
    "array_files": _arrays,
    "ranker_files": _arrays,
    "command_line": _commands,
    "http_body": _bodies,
    "http_rows": lambda: [bytes([fields, *range(n)]) for fields in range(16) for n in (1, 3, 24)],
}
