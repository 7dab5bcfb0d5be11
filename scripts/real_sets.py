r"""Make the data sets of the experiments from their public sources, or check files against ours.

Usage::

    python scripts/real_sets.py make bibtex SOURCE ../shared/data
    python scripts/real_sets.py check ../shared/data

docs/method/data.md says what each source is, and for which sets the result is ours to the byte.
Made are train.txt.xz, test.txt.xz, feature_map.txt.xz and label_map.txt.xz in a folder named like
the set. Needs scikit-learn for the sets that are made from texts.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import lzma
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from swnn_xp import write_names, write_xmc

FIGURES = Path(__file__).resolve().parents[1] / "docs" / "data" / "sets.json"
FILES = "train.txt", "test.txt", "feature_map.txt", "label_map.txt"
ASCII_WORD = r"[a-z][a-z0-9_+#-]*[a-z0-9]"
ANY_WORD = r"(?u)\b\w\w+\b"


class Parts(NamedTuple):
    """A data set: features and labels of the training and of the test rows, and their names."""

    X_train: sp.csr_array
    y_train: sp.csr_array
    X_test: sp.csr_array
    y_test: sp.csr_array
    features: list[str]
    labels: list[str]


class Words(NamedTuple):
    """How texts become tf-idf rows; in all sets tf is 1 + ln(count), and rows have unit length."""

    pattern: str
    min_rows: int
    """Least training rows with a word."""
    max_share: float
    """Largest share of the training rows with a word."""


def matrix(rows: Iterable[dict[int, float]], width: int) -> sp.csr_array:
    """Rows as dictionaries become a matrix."""
    rows = list(rows)
    indptr = np.cumsum([0, *map(len, rows)])
    indices = [column for row in rows for column in sorted(row)]
    values = [row[column] for row in rows for column in sorted(row)]
    return sp.csr_array((np.asarray(values, float), indices, indptr), shape=(len(rows), width))


def label_matrix(rows: list[list[str]], names: list[str]) -> sp.csr_array:
    """Lists of labels become a 0/1 matrix."""
    column = {name: i for i, name in enumerate(names)}
    return matrix(({column[name]: 1.0 for name in row} for row in rows), len(names))


def read_arff(path: Path) -> tuple[list[str], list[dict[int, float]]]:
    """Names of the attributes, and the rows of a sparse ARFF file."""
    names: list[str] = []
    rows: list[dict[int, float]] = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        if found := re.match(r"@attribute\s+('(?:[^'\\]|\\.)*'|\S+)", line, re.IGNORECASE):
            names.append(found[1].strip("'").replace("\\'", "'"))
        elif line.startswith("{"):
            cells = (cell.split() for cell in line.strip().strip("{}").split(",") if cell.strip())
            rows.append({int(at): float(value) for at, value in cells if float(value)})
    return names, rows


def of_mulan(name: str, folder: Path) -> Parts:
    """The official split as Mulan has it: NAME-train.arff and NAME-test.arff; labels are TAG_*."""
    found: list[sp.csr_array] = []
    names: list[str] = []
    for part in ("train", "test"):
        names, rows = read_arff(folder / f"{name}-{part}.arff")
        is_label = np.asarray([each.startswith("TAG_") for each in names])
        whole = matrix(rows, len(names))
        found += [whole[:, ~is_label], whole[:, is_label]]
    features = [each for each in names if not each.startswith("TAG_")]
    labels = [each for each in names if each.startswith("TAG_")]
    return Parts(found[0], found[1], found[2], found[3], features, labels)


def of_citeulike(folder: Path, seed: int) -> Parts:
    """citeulike-t: mult.dat, vocabulary.dat, tag-item.dat and tags.dat; random 80/20."""
    features = (folder / "vocabulary.dat").read_text(encoding="utf-8").split("\n")
    names = (folder / "tags.dat").read_text(encoding="utf-8").split("\n")
    rows = []
    for line in (folder / "mult.dat").read_text().splitlines():
        cells = (cell.split(":") for cell in line.split()[1:])
        rows.append({int(at): float(count) for at, count in cells})
    tags: list[list[str]] = [[] for _ in rows]
    for name, line in zip(names, (folder / "tag-item.dat").read_text().splitlines(), strict=False):
        for article in line.split()[1:]:
            tags[int(article)].append(name)
    kept = [i for i, row in enumerate(rows) if row and tags[i]]
    used = {name for i in kept for name in tags[i]}
    labels = [name for name in dict.fromkeys(names) if name in used]
    train, test = split(len(kept), 0.2, seed)
    width = 1 + max(at for row in rows for at in row)
    X = matrix((rows[i] for i in kept), width)
    Y = label_matrix([tags[i] for i in kept], labels)
    return Parts(X[train], Y[train], X[test], Y[test], features[:width], labels)


def of_eurlex(folder: Path, seed: int) -> Parts:
    """EURLEX57K: a JSON file for each law in train/ and test/; dev/ is not used."""
    del seed  # the split is official
    texts: list[list[str]] = []
    labels: list[list[str]] = []
    for part in ("train", "test"):
        laws = [json.loads(path.read_text()) for path in sorted((folder / part).glob("*.json"))]
        texts.append([law_text(law) for law in laws])
        labels.append([law["concepts"] for law in laws])
    return of_texts(texts[0], labels[0], texts[1], labels[1], Words(ASCII_WORD, 3, 0.5))


def law_text(law: dict[str, Any]) -> str:
    """All texts of a law."""
    body = law["main_body"] if isinstance(law["main_body"], list) else [law["main_body"]]
    parts = law["title"], law["header"], law["recitals"], *body, law["attachments"]
    return "\n".join(part or "" for part in parts)


def of_finna(folder: Path, seed: int) -> Parts:
    """Annif's corpus yso-finna-en.tsv.gz: a title, a tab, addresses of concepts; random 80/20."""
    texts, concepts = [], []
    for line in lines_of(folder / "yso-finna-en.tsv.gz"):
        title, _, addresses = line.rstrip("\n").partition("\t")
        found = [address.rstrip("/>").rsplit("/", 1)[-1] for address in addresses.split()]
        if title and found:
            texts.append(title)
            concepts.append(found)
    return of_random_texts(texts, concepts, 0.2, seed, Words(ANY_WORD, 2, 1.0))


def of_nvd(folder: Path, seed: int) -> Parts:
    """The National Vulnerability Database's JSON feeds 1.1, nvdcve-*.json(.gz); random 90/10."""
    texts, products = [], []
    for path in sorted(folder.glob("nvdcve-*.json*")):
        for item in json.loads("".join(lines_of(path)))["CVE_Items"]:
            described = item["cve"]["description"]["description_data"]
            found = {":".join(uri.split(":")[3:5]) for uri in cpe_uris(item["configurations"])}
            if described and found:
                texts.append(described[0]["value"])
                products.append(sorted(found))
    return of_random_texts(texts, products, 0.1, seed, Words(ASCII_WORD, 2, 0.5))


def cpe_uris(node: Any) -> Iterator[str]:
    """Names of the vulnerable products in a configuration."""
    if isinstance(node, list):
        for each in node:
            yield from cpe_uris(each)
    elif isinstance(node, dict):
        if node.get("vulnerable"):
            yield node["cpe23Uri"]
        for value in node.values():
            yield from cpe_uris(value)


def lines_of(path: Path) -> Iterator[str]:
    """Lines of a text file, which may be compressed."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        yield from file


def split(n: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions of training and test rows, ascending."""
    chosen = np.zeros(n, bool)
    chosen[np.random.default_rng(seed).permutation(n)[: round(share * n)]] = True
    return np.flatnonzero(~chosen), np.flatnonzero(chosen)


def of_random_texts(
    texts: list[str], labels: list[list[str]], share: float, seed: int, words: Words
) -> Parts:
    """Split texts at random."""
    parts = [[(texts[i], labels[i]) for i in part] for part in split(len(texts), share, seed)]
    (train, y_train), (test, y_test) = (
        [list(part) for part in zip(*p, strict=True)] for p in parts
    )
    return of_texts(train, y_train, test, y_test, words)


def of_texts(
    train: list[str], y_train: list[list[str]], test: list[str], y_test: list[list[str]],
    words: Words,
) -> Parts:  # fmt: skip
    """Turn texts into tf-idf rows of four digits; document frequencies are of training rows."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(
        sublinear_tf=True, stop_words="english", token_pattern=words.pattern,
        min_df=words.min_rows, max_df=words.max_share,
    )  # fmt: skip
    X = sp.csr_array(vectorizer.fit_transform(train)), sp.csr_array(vectorizer.transform(test))
    for part in X:
        part.data = np.asarray([float(f"{value:.4g}") for value in part.data])
    names = sorted({name for row in [*y_train, *y_test] for name in row})
    Y = label_matrix(y_train, names), label_matrix(y_test, names)
    # A text with no word of the vocabulary, or no label, is no row.
    kept = [
        (np.diff(rows.indptr) > 0) & (np.diff(own.indptr) > 0)
        for rows, own in zip(X, Y, strict=True)
    ]
    return Parts(
        X[0][kept[0]], Y[0][kept[0]], X[1][kept[1]], Y[1][kept[1]],
        vectorizer.get_feature_names_out().tolist(), names,
    )  # fmt: skip


MAKERS = {
    "bibtex": lambda folder, seed: of_mulan("bibtex", folder),
    "delicious": lambda folder, seed: of_mulan("delicious", folder),
    "citeulike-t": of_citeulike,
    "eurlex57k": of_eurlex,
    "finna-yso-en": of_finna,
    "nvd-cpe": of_nvd,
}


def write(parts: Parts, folder: Path) -> None:
    """Write a data set's files."""
    folder.mkdir(parents=True, exist_ok=True)
    write_xmc(folder / "train.txt.xz", parts.X_train, parts.y_train)
    write_xmc(folder / "test.txt.xz", parts.X_test, parts.y_test)
    write_names(folder / "feature_map.txt.xz", parts.features)
    write_names(folder / "label_map.txt.xz", parts.labels)


def checksums(folder: Path) -> dict[str, str]:
    """SHA-256 of a data set's files, uncompressed: two versions of xz may compress differently."""
    found = {}
    for name in FILES:
        for path in (folder / name, folder / f"{name}.xz"):
            if path.exists():
                with (lzma.open if path.suffix == ".xz" else open)(path, "rb") as file:
                    found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def check(root: Path, names: Iterable[str]) -> bool:
    """Compare files with those that were measured; print a line for each, return if all agree."""
    known = {row["dataset"]: row.get("sha256", {}) for row in json.loads(FIGURES.read_text())}
    agree = True
    for name in names:
        found = checksums(root / name)
        for file, expected in known[name].items():
            same = found.get(file) == expected
            agree &= same
            said = "the same" if same else "different" if file in found else "missing"
            print(f"{name}/{file}: {said}")
    return agree


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("make", help="write a data set")
    make.add_argument("name", choices=MAKERS)
    make.add_argument("source", type=Path, help="folder of its source")
    make.add_argument("root", type=Path, help="folder of data sets")
    make.add_argument("--seed", type=int, default=0, help="of a random split")
    checks = commands.add_parser("check", help="compare files with ours")
    checks.add_argument("root", type=Path, help="folder of data sets")
    checks.add_argument("names", nargs="*", default=list(MAKERS), metavar="SET")
    arguments = parser.parse_args()
    if arguments.command == "check":
        sys.exit(0 if check(arguments.root, arguments.names) else 1)
    parts = MAKERS[arguments.name](arguments.source, arguments.seed)
    write(parts, arguments.root / arguments.name)
    check(arguments.root, [arguments.name])


if __name__ == "__main__":
    main()
