"""Labels found by name, on the command line."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import SWNNRanker, load, read_label_features, write_names, write_xmc
from swnn_xp.cli.main import main

RNG = np.random.default_rng(5)
WORDS = ["ale", "wine", "red", "white", "dark", "pale", "port", "rum", "old", "new", "malt", "hops"]
X = sp.csr_array((RNG.random((60, 12)) < 0.3).astype(float))
Y = sp.csr_array(X[:, :5].toarray().astype(np.int8) * (np.arange(5) < 4))
NAMES = ["ale", "wine", "red wine", "whites", "dark"]


@pytest.fixture
def files(tmp_path):
    write_xmc(tmp_path / "train.txt", X, Y)
    write_names(tmp_path / "label_map.txt", NAMES)
    write_names(tmp_path / "feature_map.txt", WORDS)
    return tmp_path


def fit(files, *more):
    given = [str(files / "train.txt"), "-o", str(files / "m"), "--learn", "ranking", *more]
    code = main(["fit", *given])
    return code, load(files / "m") if code == 0 else None


def test_names_of_the_maps(files):
    _, clf = fit(files, "--label-features", "names")
    own = SWNNRanker().fit(X, Y, feature_names=WORDS, label_names=NAMES, label_features="names")
    assert np.array_equal(clf.predict_topk(X).scores, own.predict_topk(X).scores)
    assert 4 in clf.predict_topk(X, k=5).labels


def test_a_file_of_features(files, capsys):
    Z = np.eye(5, 12)
    lines = ["5 12", *(f"{i}:1.0" for i in range(5))]
    write_names(files / "lbl.txt.xz", lines)
    assert np.array_equal(read_label_features(files / "lbl.txt.xz").toarray(), Z)
    _, clf = fit(files, "--label-features", str(files / "lbl.txt.xz"))
    own = SWNNRanker().fit(X, Y, label_features=Z)
    assert np.array_equal(clf.predict_topk(X).scores, own.predict_topk(X).scores)
    assert main(["explain", str(files / "m"), str(files / "train.txt"), "--row", "0"]) == 0
    assert " names " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["5"], "lbl.txt:1: the first line must be the numbers of labels and features"),
        (["2 12", "0:1", "1:x"], "lbl.txt:3: '1:x' is not feature:value"),
        (["2 12", "0:1", "12:1"], "lbl.txt:3: feature '12' is not below 12"),
        (["2 12", "0:1"], "lbl.txt: has 1 labels, not 2"),
        (["1 12", "0:1", "1:1"], "lbl.txt:3: more than the 1 labels"),
        (["1 12", "0:1"], "label_features has 1 rows for 5 labels"),
        (["5 13", "0:1", "", "", "", ""], "label_features has 13 features, but X has 12"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(files, capsys, lines, message):
    write_names(files / "lbl.txt", lines)
    assert fit(files, "--label-features", str(files / "lbl.txt"))[0] == 2
    assert message in capsys.readouterr().err


def test_what_is_missing_is_named(files, capsys):
    (files / "feature_map.txt").unlink()
    assert fit(files, "--label-features", "names")[0] == 2
    assert "needs feature_map.txt beside" in capsys.readouterr().err
    arguments = ["fit", str(files / "train.txt"), "-o", str(files / "m")]
    assert main([*arguments, "--label-features", "names"]) == 2
    assert "--label-features needs --learn ranking" in capsys.readouterr().err


def test_a_vocabulary_brings_labels_that_no_text_has(tmp_path, capsys):
    texts = ["red wine", "white wine", "dark ale", "pale ale"] * 5
    tags = ["u:1", "u:1", "u:2", "u:2"] * 5
    lines = [json.dumps({"text": t, "labels": [u]}) for t, u in zip(texts, tags, strict=True)]
    write_names(tmp_path / "t.jsonl", lines)
    write_names(tmp_path / "v.tsv", ["<u:1>\twine", "<u:2>\tale", "<u:3>\tstout", "<u:3>\tdark"])
    given = ["--text", str(tmp_path / "t.jsonl"), "--vocabulary", str(tmp_path / "v.tsv")]
    named = ["--learn", "ranking", "--label-features", "names"]
    assert main(["fit", *given, *named, "-o", str(tmp_path / "m")]) == 0
    clf = load(tmp_path / "m")
    assert clf.label_names_ == ["wine", "ale", "stout"]
    assert "stout" in clf.predict_names(["a dark one"], k=3)[0]
    assert main(["fit", *given, "--learn", "ranking", "-o", str(tmp_path / "m")]) == 0
    assert load(tmp_path / "m").label_names_ == ["wine", "ale"]
