"""Named data sets: the registry, finding files, reading and comparing them."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest

from swnn_xp import datasets
from swnn_xp.datasets.reading import REGISTRY, differences, find_files, find_published

TRAIN = "3 4 2\n0 0:1 2:2\n0,1 1:1\n1 3:5\n"
TEST = "1 4 2\n1 0:3\n"
PAPER = {
    "AmazonCat-13K", "Wiki10-31K", "Delicious-200K", "WikiLSHTC-325K", "Amazon-670K", "Amazon-3M",
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in REGISTRY if REGISTRY[name].points_per_label])
def test_published_means_agree_with_each_other(name: str) -> None:
    p = REGISTRY[name]
    rows = p.n_train + (p.n_test if p.means_over == "all" else 0)
    # both means count the same pairs, and each is rounded to two decimals
    assert rows * p.labels_per_point == pytest.approx(p.n_labels * p.points_per_label, rel=2.2e-3)


def test_registry_has_the_papers_sets_and_the_small_ones() -> None:
    assert {name for name in REGISTRY if REGISTRY[name].in_paper} == PAPER
    others = {"EURLex-4K", "EURLEX57K", "Bibtex", "Delicious", "Mediamill", "RCV1-x", "debtags"}
    assert set(REGISTRY) == PAPER | others


@pytest.mark.parametrize(
    ("spelling", "name"),
    [("amazon670k", "Amazon-670K"), ("rcv1-2k", "RCV1-x"), ("DELICIOUSLARGE", "Delicious-200K")],
)
def test_names_are_found_in_any_spelling(spelling: str, name: str) -> None:
    assert find_published(spelling) is REGISTRY[name]


def test_registered_figures_of_debtags_are_true() -> None:
    data = datasets.load("debtags")
    assert differences(REGISTRY["debtags"], data.X_train, data.y_train, data.y_test) == ()


@pytest.mark.parametrize(
    ("folder", "train", "test"),
    [
        ("AmazonCat", "amazonCat_train.txt", "amazonCat_test.txt"),
        ("amazoncat-13k", "train.txt.xz", "test.txt.xz"),
        ("AmazonCat-13K.bow", "train.txt.gz", "test.txt"),
        (".", "amazonCat_train.txt", "amazonCat_test.txt.gz"),
    ],
)
def test_files_are_found_under_all_their_names(
    tmp_path: Path, folder: str, train: str, test: str
) -> None:
    (tmp_path / folder).mkdir(exist_ok=True)
    for name in (train, test):
        (tmp_path / folder / name).touch()
    files = find_files("AmazonCat-13K", tmp_path)
    assert files is not None
    assert [path.name for path in files.data] == [train, test]
    assert datasets.available(tmp_path) == ["AmazonCat-13K", "debtags"]
    assert find_files("Amazon-670K", tmp_path) is None


def test_plain_files_of_another_set_are_not_taken(tmp_path: Path) -> None:
    for name in ("train.txt", "test.txt"):
        (tmp_path / name).touch()
    assert find_files("AmazonCat-13K", tmp_path) is None


def test_load_reads_compares_and_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "wiki10"
    folder.mkdir()
    (folder / "train.txt.xz").write_bytes(lzma.compress(TRAIN.encode()))
    (folder / "test.txt").write_text(TEST)
    (folder / "feature_map.txt").write_text("a\nb\nc\nd\n")
    (folder / "label_map.txt").write_text("only one\n")
    monkeypatch.setenv("SWNN_DATA", str(tmp_path))
    data = datasets.load("wiki10-31k")
    assert data.name == "Wiki10-31K"
    assert data.X_train.shape == (3, 4)
    assert data.y_test.toarray().tolist() == [[0, 1]]
    assert data.feature_names == ["a", "b", "c", "d"]
    assert data.label_names == []
    assert data.differences == (
        "features: published 101,938, found 4",
        "labels: published 30,938, found 2",
        "training rows: published 14,146, found 3",
        "test rows: published 6,616, found 1",
        "points per label: published 8.52, found 2.0",
        "labels per point: published 18.64, found 1.33",
        "label_map.txt: 1 names for 2 columns, left out",
    )
    assert "7 differences" in repr(data)


def test_an_unregistered_folder_loads_and_counts_are_weighted(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "train.txt").write_text(TRAIN)
    (folder / "test.txt").write_text(TEST)
    plain = datasets.load("mine", root=tmp_path)
    assert plain.differences == ()
    assert plain.X_test.data.tolist() == [3]
    weighted = datasets.load("mine", root=tmp_path, weighting="tfidf")
    expected = (1 + np.log(3)) * (np.log(4 / 2) + 1)
    np.testing.assert_allclose(weighted.X_test.data, [expected], rtol=1e-6)
    (folder / "test.txt").write_text("1 4 2\n1 0:0.5\n")
    with pytest.raises(ValueError, match="not counts"):
        datasets.load("mine", root=tmp_path, weighting="tfidf")


def test_splits_are_columns_counted_from_one(tmp_path: Path) -> None:
    (tmp_path / "Bibtex_data.txt").write_text(TRAIN)
    (tmp_path / "bibtex_trSplit.txt").write_text("1 3\n2 1\n")
    with gzip.open(tmp_path / "bibtex_tstSplit.txt.gz", "wt") as file:
        file.write("3 2\n")
    first = datasets.load("bibtex", root=tmp_path)
    assert first.y_train.toarray().tolist() == [[1, 0], [1, 1]]
    assert first.X_test.toarray().tolist() == [[0, 0, 0, 5]]
    second = datasets.load("bibtex", root=tmp_path, split=1)
    assert second.y_train.toarray().tolist() == [[0, 1], [1, 0]]
    with pytest.raises(ValueError, match="splits 0 to 1, not 2"):
        datasets.load("bibtex", root=tmp_path, split=2)
    (tmp_path / "bibtex_trSplit.txt").write_text("1\n4\n")
    with pytest.raises(ValueError, match="outside 1 to 3"):
        datasets.load("bibtex", root=tmp_path)


def test_a_missing_set_says_where_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SWNN_DATA", raising=False)
    with pytest.raises(ValueError, match=r"SWNN_DATA.*Extreme Classification Repository"):
        datasets.load("Amazon-670K")
    with pytest.raises(ValueError, match="mediamill_trSplit"):
        datasets.load("Mediamill", root=tmp_path)
    with pytest.raises(ValueError, match="Chalkidis"):
        datasets.load("EURLEX57K", root=tmp_path)
    with pytest.raises(ValueError, match="not a known name"):
        datasets.load("nonsense", root=tmp_path / "absent")
    assert datasets.available() == ["debtags"]


def test_real_files_agree_with_their_figures() -> None:
    root = Path(__file__).parents[3] / "shared" / "data"
    if not root.is_dir():
        pytest.skip("shared/data is not beside the project")
    for name in ("Bibtex", "Delicious"):
        data = datasets.load(name, root=root)
        assert data.differences == ()
        assert len(data.label_names) == data.y_train.shape[1]
