"""The shipped data set, its weighting, and the script that makes it."""

from __future__ import annotations

import runpy
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfTransformer

from swnn_xp import datasets
from swnn_xp.datasets.reading import _unpack, idf_weights, tfidf

SCRIPT = Path(__file__).parents[2] / "scripts" / "make_debtags.py"


@pytest.fixture(scope="module")
def debtags() -> datasets.Dataset:
    return datasets.load("debtags")


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_shapes_types_and_names_fit(debtags: datasets.Dataset) -> None:
    for X, Y, names in [
        (debtags.X_train, debtags.y_train, debtags.row_names_train),
        (debtags.X_test, debtags.y_test, debtags.row_names_test),
    ]:
        assert isinstance(X, csr_array)
        assert isinstance(Y, csr_array)
        assert X.dtype == np.float32
        assert X.shape == (len(names), len(debtags.feature_names))
        assert Y.shape == (len(names), len(debtags.label_names))
        assert np.diff(X.indptr).min() >= 1
        assert np.diff(Y.indptr).min() >= 1
        assert (Y.data == 1).all()
        fresh = csr_array((X.data, X.indices, X.indptr), X.shape)
        assert fresh.has_canonical_format
    assert len(set(debtags.feature_names)) == len(debtags.feature_names)
    assert not set(debtags.row_names_train) & set(debtags.row_names_test)


def test_a_known_package_has_its_tags_and_words(debtags: datasets.Dataset) -> None:
    rows = debtags.row_names_train + debtags.row_names_test
    where = rows.index("debtags")
    train = where < len(debtags.row_names_train)
    Y, X = (debtags.y_train, debtags.X_train) if train else (debtags.y_test, debtags.X_test)
    row = where if train else where - len(debtags.row_names_train)
    tags = {debtags.label_names[i] for i in Y[[row]].indices}
    words = {debtags.feature_names[i] for i in X[[row]].indices}
    assert {"implemented-in::python", "suite::debian", "role::program"} <= tags
    assert {"debian", "package", "tags"} <= words


def test_siblings_are_on_one_side(debtags: datasets.Dataset, script: dict[str, Any]) -> None:
    for family in ("gcc-12-", "libtrilinos-", "gambas3-"):
        sides = [
            any(name.startswith(family) for name in names)
            for names in (debtags.row_names_train, debtags.row_names_test)
        ]
        assert sides.count(True) == 1, family
    in_test = script["in_test"]
    assert in_test("gcc-12") == in_test("gcc-11") == in_test("gcc-9-cross")
    share = np.mean([in_test("".join(letters)) for letters in product("abcdefgh", repeat=4)])
    assert 0.18 < share < 0.22


def test_package_data_is_small_and_has_its_provenance() -> None:
    folder = resources.files("swnn_xp.datasets").joinpath("debtags")
    files = {entry.name: len(entry.read_bytes()) for entry in folder.iterdir()}
    assert set(files) == {"debtags.npz.xz", "PROVENANCE.md"}
    assert sum(files.values()) <= 2_000_000


def test_weighting_equals_scikit_learn() -> None:
    counts = datasets.load("debtags", weighting="counts")
    weighted = datasets.load("debtags", weighting="tfidf")
    assert (counts.X_train.data == np.rint(counts.X_train.data)).all()
    oracle = TfidfTransformer(norm=None, sublinear_tf=True).fit(counts.X_train)
    for mine, raw in [(weighted.X_train, counts.X_train), (weighted.X_test, counts.X_test)]:
        expected = oracle.transform(raw)
        np.testing.assert_array_equal(mine.indices, expected.indices)
        np.testing.assert_allclose(mine.data, expected.data, rtol=1e-6)


def test_weighting_by_hand() -> None:
    counts = csr_array(np.array([[1, 3], [2, 0], [1, 0]], dtype=np.float32))
    idf = idf_weights(counts)
    np.testing.assert_allclose(idf, [np.log(4 / 4) + 1, np.log(4 / 2) + 1])
    expected = [[1, (1 + np.log(3)) * (1 + np.log(2))], [1 + np.log(2), 0], [1, 0]]
    np.testing.assert_allclose(tfidf(counts, idf).toarray(), expected, rtol=1e-6)


def test_what_the_script_packs_unpacks(script: dict[str, Any]) -> None:
    rows = [{5: 2, 0: 1}, {}, {3: 300}]
    packed = script["pack"](rows)
    matrix = _unpack(packed["lengths"], packed["steps"], packed["counts"], 6)
    expected = [[1, 0, 0, 0, 0, 2], [0] * 6, [0, 0, 0, 255, 0, 0]]
    np.testing.assert_array_equal(matrix.toarray(), expected)


def test_script_joins_long_descriptions(script: dict[str, Any], tmp_path: Path) -> None:
    avail, long = tmp_path / "avail", tmp_path / "long"
    avail.write_text(
        "Package: a\nDescription: short one\nDescription-md5: 1\nTag: x::y, x::z,\n role::p\n\n"
        "Package: b\nDescription: untagged\n\n"
        "Package: c\nSource: s (1.0)\nDescription: synopsis only\nDescription-md5: 2\nTag: x::y\n"
    )
    long.write_text("Package: a\nDescription-md5: 1\nDescription-en: short one\n and more\n")
    packages = script["read_packages"]([str(avail), str(long)])
    assert list(packages) == ["a", "c"]
    assert packages["a"]["Description"] == "short one\nand more"
    assert packages["c"]["Description"] == "synopsis only"
    assert script["source_of"](packages["c"]) == "s"
    arrays = script["build"](packages)
    assert bytes(arrays["labels"]).decode().split("\n") == ["role::p", "x::y", "x::z"]


def test_unknown_name_and_weighting_are_refused() -> None:
    with pytest.raises(ValueError, match="nonsense"):
        datasets.load("nonsense")
    with pytest.raises(ValueError, match="weighting"):
        datasets.load("debtags", weighting="bm25")  # type: ignore[arg-type]


@pytest.mark.parametrize("weighting", ["tfidf", "counts"])
def test_its_vectoriser_makes_its_rows(weighting: str) -> None:
    """A text of the counted words of a row, with others in between, gives the row."""
    data = datasets.load("debtags", weighting=weighting)  # type: ignore[arg-type]
    counts = datasets.load("debtags", weighting="counts").X_test[:50]
    texts = [
        " the, ".join(
            data.feature_names[j].upper()
            for j, n in zip(row.indices, row.data, strict=True)
            for _ in range(int(n))
        )
        for row in (counts[[i]] for i in range(50))
    ]
    assert data.vectorizer is not None
    rows = data.vectorizer.transform(texts)
    assert (rows.indices == data.X_test[:50].indices).all()
    np.testing.assert_allclose(rows.data, data.X_test[:50].data, rtol=1e-6)
    assert data.vectorizer.row_and_unknown("The game of Zzyzx")[1] == ["zzyzx"]
