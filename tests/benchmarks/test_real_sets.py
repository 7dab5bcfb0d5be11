"""The data sets of the experiments from sources in their formats, small ones made here."""

import gzip
import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from swnn_xp import datasets

SCRIPT = Path(__file__).parents[2] / "scripts" / "real_sets.py"
ARFF = """@relation small
@attribute code {0,1}
@attribute 'it\\'s' {0,1}
@attribute words {0,1}
@attribute TAG_one {0,1}
@attribute TAG_two {0,1}

@data
"""


@pytest.fixture(scope="module")
def real_sets():
    spec = importlib.util.spec_from_file_location("real_sets", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def made(real_sets, tmp_path):
    """Make a set from the files in tmp_path/source and load it."""

    def make(name):
        parts = real_sets.MAKERS[name](tmp_path / "source", 0)
        real_sets.write(parts, tmp_path / "sets" / name)
        return datasets.load(name, root=tmp_path / "sets")

    (tmp_path / "source").mkdir()
    return make


@pytest.mark.parametrize("labels_first", [False, True])
def test_mulan(made, tmp_path, labels_first):
    rows = {"train": ["{0 1,2 1,4 1}", "{1 1,3 1,4 1}"], "test": ["{2 1,3 1}"]}
    head = ARFF
    if labels_first:
        lines = ARFF.splitlines(keepends=True)
        head = "".join([lines[0], *lines[4:6], *lines[1:4], *lines[6:]])
        rows = {"train": ["{1 1,2 1,4 1}", "{0 1,1 1,3 1}"], "test": ["{0 1,4 1}"]}
    for part, lines in rows.items():
        (tmp_path / "source" / f"bibtex-{part}.arff").write_text(head + "\n".join(lines) + "\n")
    data = made("bibtex")
    assert data.feature_names == ["code", "it's", "words"]
    assert data.label_names == ["TAG_one", "TAG_two"]
    assert data.X_train.toarray().tolist() == [[1, 0, 1], [0, 1, 0]]
    assert data.y_train.toarray().tolist() == [[0, 1], [1, 1]]
    assert data.X_test.toarray().tolist() == [[0, 0, 1]]
    assert data.y_test.toarray().tolist() == [[1, 0]]


def test_citeulike(made, tmp_path):
    source = tmp_path / "source"
    (source / "vocabulary.dat").write_text("cell\nweb\n")
    (source / "tags.dat").write_text("biology\nunused\ninternet\n")
    (source / "mult.dat").write_text("1 0:2\n2 0:1 1:3\n0\n1 1:1\n1 1:5\n1 0:7\n")
    (source / "tag-item.dat").write_text("3 0 1 5\n1 2\n2 1 4\n")  # article 3 has no tag
    data = made("citeulike-t")
    assert data.label_names == ["biology", "internet"]
    assert (data.X_train.shape[0], data.X_test.shape[0]) == (3, 1)
    rows = np.vstack([data.X_train.toarray(), data.X_test.toarray()]).tolist()
    labels = np.vstack([data.y_train.toarray(), data.y_test.toarray()]).tolist()
    together = dict(zip(map(tuple, rows), labels, strict=True))
    assert together == {(2, 0): [1, 0], (1, 3): [1, 1], (0, 5): [0, 1], (7, 0): [1, 0]}


def law(title, concepts):
    return {
        "title": title, "header": "Council", "recitals": None,
        "main_body": ["rules of markets"], "attachments": "", "concepts": concepts,
    }  # fmt: skip


def test_eurlex(made, tmp_path):
    titles = ["wine export", "wine imports export", "sugar export", "wine sugar", "fish", "fish"]
    for part, laws in (("train", titles), ("test", ["wine wine sugar", "fish"])):
        (tmp_path / "source" / part).mkdir()
        for i, title in enumerate(laws):
            text = json.dumps(law(title, ["10", str(i)]))
            (tmp_path / "source" / part / f"{i}.json").write_text(text)
    data = made("eurlex57k")
    assert data.feature_names == ["export", "wine"], "three laws at least, half of them at most"
    assert data.X_train.shape[0] == 4, "laws without such a word are left out"
    idf = np.log(7 / 4) + 1  # both words are in three of six laws
    expected = np.array([[idf, idf]]) / np.sqrt(2 * idf**2)
    np.testing.assert_allclose(data.X_train.toarray()[:1], expected, atol=5e-5)
    assert data.X_test.toarray().tolist() == [[0, 1]]
    assert [data.label_names[i] for i in data.y_test.indices] == ["0", "10"]


def test_finna_and_nvd(made, tmp_path):
    lines = [f"history of finland {i}\t<http://www.yso.fi/onto/yso/p{i % 3}>" for i in range(10)]
    with gzip.open(tmp_path / "source" / "yso-finna-en.tsv.gz", "wt") as file:
        file.write("\n".join(lines) + "\nno concepts\t\n")
    data = made("finna-yso-en")
    assert (data.X_train.shape[0], data.X_test.shape[0]) == (8, 2)
    assert data.feature_names == ["finland", "history"]
    assert data.label_names == ["p0", "p1", "p2"]

    def item(i):
        match = {"vulnerable": True, "cpe23Uri": f"cpe:2.3:a:vendor:tool_{i % 2}:1.0:*"}
        other = {"vulnerable": False, "cpe23Uri": "cpe:2.3:o:vendor:system:1.0:*"}
        words = "overflow in parser" if i % 2 else "buffer flaw"
        return {
            "cve": {"description": {"description_data": [{"value": words}]}},
            "configurations": {"nodes": [{"children": [{"cpe_match": [match, other]}]}]},
        }

    feed = {"CVE_Items": [item(i) for i in range(20)]}
    (tmp_path / "source" / "nvdcve-1.1-2020.json").write_text(json.dumps(feed))
    data = made("nvd-cpe")
    assert (data.X_train.shape[0], data.X_test.shape[0]) == (18, 2)
    assert data.label_names == ["vendor:tool_0", "vendor:tool_1"]


def test_files_are_compared_with_ours(real_sets, monkeypatch, tmp_path, capsys):
    (tmp_path / "bibtex").mkdir()
    (tmp_path / "bibtex" / "train.txt").write_text("1 1 1\n0 0:1\n")
    known = [{"dataset": "bibtex", "sha256": real_sets.checksums(tmp_path / "bibtex")}]
    monkeypatch.setattr(real_sets, "FIGURES", tmp_path / "sets.json")
    real_sets.FIGURES.write_text(json.dumps(known))
    assert real_sets.check(tmp_path, ["bibtex"])
    (tmp_path / "bibtex" / "train.txt").write_text("1 1 1\n0 0:2\n")
    assert not real_sets.check(tmp_path, ["bibtex"])
    (tmp_path / "bibtex" / "train.txt").unlink()
    assert not real_sets.check(tmp_path, ["bibtex"])
    assert capsys.readouterr().out.split("\n")[:3] == [
        f"bibtex/train.txt: {said}" for said in ("the same", "different", "missing")
    ]


def test_our_files_are_those_that_were_measured(real_sets):
    root = SCRIPT.parents[2] / "shared" / "data"
    if not root.exists():
        pytest.skip("no data sets in ../shared/data")
    assert real_sets.check(root, ["bibtex", "delicious"])
