r"""Turn a Debian package index into the shipped data set "debtags".

Usage::

    apt-get -o Acquire::Languages=en update
    apt-cache dumpavail > avail.txt
    apt-get -o Acquire::Languages=en indextargets \
        --format '$(FILENAME)' 'Created-By: Translations' |
        xargs -n 1 /usr/lib/apt/apt-helper cat-file > long.txt
    python scripts/make_debtags.py avail.txt long.txt

A file argument may be ``-`` for standard input. ``dumpavail`` alone is enough, but where a
release keeps long descriptions apart (Debian does) only the one-line synopsis is in it: the
second file brings the long ones, joined by ``Description-md5``. Only counts of words are kept,
never the text.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import lzma
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from swnn_xp.datasets.reading import DEBTAGS_STOP_WORDS, DEBTAGS_WORD

TARGET = Path(__file__).parent.parent / "swnn_xp" / "datasets" / "debtags" / "debtags.npz.xz"
WORD = re.compile(DEBTAGS_WORD)
MIN_ROWS = 3  # a word must occur in this many training rows


def stanzas(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """Parse the paragraphs of a Debian control file."""
    fields: dict[str, str] = {}
    key = ""
    for line in lines:
        if not line.strip():
            if fields:
                yield fields
            fields = {}
        elif line[0] in " \t":
            fields[key] += "\n" + line.strip()
        else:
            key, _, value = line.partition(":")
            fields[key] = value.strip()
    if fields:
        yield fields


def read_packages(paths: list[str]) -> dict[str, dict[str, str]]:
    """Tagged packages by name, with the long description where one of the files has it."""
    packages: dict[str, dict[str, str]] = {}
    long: dict[str, str] = {}
    for path in paths:
        with sys.stdin if path == "-" else open(path, encoding="utf-8") as lines:
            for fields in stanzas(lines):
                if "Description-en" in fields:
                    long[fields["Description-md5"]] = fields["Description-en"]
                elif "Tag" in fields:
                    packages.setdefault(fields["Package"], fields)
    for fields in packages.values():
        text = long.get(fields.get("Description-md5", ""))
        fields["Description"] = text or fields.get("Description", "")
    return packages


def source_of(fields: dict[str, str]) -> str:
    """Name of the source package that a binary package is built from."""
    return fields.get("Source", fields["Package"]).split()[0]


def in_test(source: str) -> bool:
    """Put one source in five into the test set, by a hash of its name up to the first digit.

    Packages of one source (gcc-12-base, gcc-12-doc, ...) and of its other versions (gcc-11-cross)
    share most of their description. Split apart, they would give the answers away.
    """
    stem = re.split(r"[0-9]", source)[0].rstrip("-.")
    return int.from_bytes(hashlib.sha256(stem.encode()).digest()[:8]) % 5 == 0


def pack(rows: list[dict[int, int]]) -> dict[str, np.ndarray]:
    """Lengths, column ids and counts of rows; ids as differences within a row, to compress well."""
    ordered = [sorted(row.items()) for row in rows]
    steps = [np.diff([column for column, _ in row], prepend=0) for row in ordered]
    return {
        "lengths": np.array([len(row) for row in ordered], dtype=np.uint16),
        "steps": np.concatenate(steps).astype(np.uint16),
        "counts": np.array(
            [min(count, 255) for row in ordered for _, count in row], dtype=np.uint8
        ),
    }


def build(packages: dict[str, dict[str, str]]) -> dict[str, np.ndarray]:
    """All arrays of the data set: training rows first, siblings side by side."""
    sources = {name: source_of(fields) for name, fields in packages.items()}
    names = sorted(packages, key=lambda name: (in_test(sources[name]), sources[name], name))
    n_train = sum(not in_test(sources[name]) for name in names)
    words = [Counter(WORD.findall(packages[name]["Description"].lower())) for name in names]
    tags = [re.split(r"[,\s]+", packages[name]["Tag"].strip(", \n")) for name in names]

    stop_words = set(DEBTAGS_STOP_WORDS.split())
    rows_with = Counter(word for row in words[:n_train] for word in row)
    kept = [word for word, n in rows_with.items() if n >= MIN_ROWS and word not in stop_words]
    features = sorted(kept, key=lambda word: (-rows_with[word], word))
    labels = sorted({tag for row in tags for tag in row})
    feature_id = {word: i for i, word in enumerate(features)}
    label_id = {tag: i for i, tag in enumerate(labels)}
    x = pack([{feature_id[w]: n for w, n in row.items() if w in feature_id} for row in words])
    y = pack([{label_id[tag]: 1 for tag in row} for row in tags])
    return {
        "n_train": np.array(n_train),
        **{f"x_{key}": value for key, value in x.items()},
        **{f"y_{key}": value for key, value in y.items() if key != "counts"},
        **{
            key: np.frombuffer("\n".join(lines).encode(), dtype=np.uint8)
            for key, lines in [("features", features), ("labels", labels), ("rows", names)]
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("files", nargs="*", default=["-"], help="control files, - for stdin")
    parser.add_argument("-o", "--output", type=Path, default=TARGET)
    arguments = parser.parse_args()
    arrays = build(read_packages(arguments.files))
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    arguments.output.write_bytes(lzma.compress(buffer.getvalue(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{len(arrays['x_lengths'])} rows, {arrays['n_train']} of them for training")
    print(f"{arguments.output}: {arguments.output.stat().st_size} bytes")


if __name__ == "__main__":
    main()
