"""`swnn fit --text`: the model of the pipeline that a user would write."""

import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

import swnn_xp
from swnn_xp.cli.main import main

TEXTS = ["red car", "blue car and red wheels", "red apple", "green apple tree", "the tree"] * 4
LABELS = [["vehicle"], ["vehicle"], ["fruit"], ["fruit", "plant"], ["plant"]] * 4


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "tagged.jsonl"
    rows = zip(TEXTS, LABELS, strict=True)
    path.write_text(
        "".join(
            json.dumps({"id": f"d{i}", "text": text, "labels": labels}) + "\n"
            for i, (text, labels) in enumerate(rows)
        )
    )
    return path


@pytest.mark.parametrize("learn", [[], ["--learn", "weights"], ["--learn", "ranking"]])
def test_fit_text(corpus, tmp_path, learn, capsys):
    options = ["--ngrams", "1-2", "--min-df", "2", "--stop-words", "english", "-S", "3"]
    assert main(["fit", "--text", str(corpus), "-o", str(tmp_path / "m"), *options, *learn]) == 0
    assert "20 rows" in capsys.readouterr().out
    clf = swnn_xp.load(tmp_path / "m", verify=True)
    theirs = TfidfVectorizer(
        sublinear_tf=True, ngram_range=(1, 2), min_df=2, stop_words="english"
    ).fit(TEXTS)
    np.testing.assert_array_equal(
        clf.predict_topk(TEXTS).scores, clf.predict_topk(theirs.transform(TEXTS)).scores
    )
    assert clf.label_names_ == ["fruit", "plant", "vehicle"]
    assert clf.row_names_[:2] == ["d0", "d1"]
    assert clf.predict_names(["A red, red car"], 1) == [["vehicle"]]


@pytest.mark.parametrize("learn", [[], ["--learn", "ranking"]])
def test_a_model_of_the_command_line_is_that_of_python(corpus, tmp_path, learn):
    assert main(["fit", "--text", str(corpus), "-o", str(tmp_path / "m"), "-S", "3", *learn]) == 0
    ours = swnn_xp.load(tmp_path / "m")
    kind = swnn_xp.SWNNRanker if learn else swnn_xp.SWNNClassifier
    theirs = kind(n_neighbors=3).fit(TEXTS, LABELS)  # the same vectoriser, too
    for clf in (ours, theirs):
        assert clf.classes_.tolist() == ["fruit", "plant", "vehicle"]
        assert clf.predict(["red car"]) == [["vehicle"]]
        assert clf.score(["red car", "red apple"], [["vehicle"], ["never seen"]]) == 0.5
        clf.partial_fit(["a yellow duck tree"] * 3, [["bird", "plant"]] * 3)
        assert clf.label_names_ == ["fruit", "plant", "vehicle", "bird"]
    np.testing.assert_array_equal(ours.feature_names_, theirs.feature_names_)
    for mine, its in zip(ours.predict_topk(TEXTS), theirs.predict_topk(TEXTS), strict=True):
        np.testing.assert_array_equal(mine, its)


def test_new_tags_beside_a_vocabulary(tmp_path):
    (tmp_path / "t.tsv").write_text("red car\t<u:1>\nred apple\t<u:2>\na bat\t<u:3> <u:4>\n")
    (tmp_path / "v.tsv").write_text("<u:1>\tvehicle\n<u:2>\tfruit\n<u:3>\tbat\n<u:4>\tbat\n")
    arguments = ["--vocabulary", str(tmp_path / "v.tsv"), "-o", str(tmp_path / "m")]
    assert main(["fit", "--text", str(tmp_path / "t.tsv"), *arguments]) == 0
    clf = swnn_xp.load(tmp_path / "m").partial_fit(["red bird"], [["bird", "bat (u:4)"]])
    assert clf.label_names_ == ["vehicle", "fruit", "bat (u:3)", "bat (u:4)", "bird"]
    assert clf.label_uris_ == ["u:1", "u:2", "u:3", "u:4", "bird"]
    assert clf.label_counts_.tolist() == [1, 1, 1, 2, 1]


def test_options_of_the_vectoriser(corpus, tmp_path):
    stop = tmp_path / "stop.txt"
    stop.write_text("car\n")
    options = ["--analyzer", "word", "--token-pattern", r"[a-z]+", "--no-sublinear-tf"]
    options += ["--stop-words", str(stop), "--strip-accents", "ascii", "--max-df", "0.9"]
    assert main(["fit", "--text", str(corpus), "-o", str(tmp_path / "m"), *options]) == 0
    vectorizer = swnn_xp.load(tmp_path / "m").vectorizer_
    assert vectorizer.analysis.stop_words == ("car",)
    assert vectorizer.analysis.token_pattern == "[a-z]+"
    assert not vectorizer.weighting.sublinear_tf


def test_annif_corpus_with_a_vocabulary(tmp_path):
    (tmp_path / "t.tsv").write_text("red car\t<u:1>\nred apple\t<u:2>\n")
    (tmp_path / "v.tsv").write_text("<u:1>\tvehicle\n<u:2>\tfruit\n")
    arguments = ["--vocabulary", str(tmp_path / "v.tsv"), "-o", str(tmp_path / "m")]
    assert main(["fit", "--text", str(tmp_path / "t.tsv"), *arguments]) == 0
    clf = swnn_xp.load(tmp_path / "m")
    assert (clf.label_names_, clf.label_uris_) == (["vehicle", "fruit"], ["u:1", "u:2"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--label-map", "x"], "--label-map is for rows"),
        (["--min-df", "1000"], "min_df"),
        (["--text-field", "body"], "tagged.jsonl:1: has no field 'body'; it has id, text, labels"),
    ],
)
def test_refusals(corpus, tmp_path, options, message, capsys):
    assert main(["fit", "--text", str(corpus), "-o", str(tmp_path / "m"), *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") <= 2
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("ngrams", ["x", "2-1", "0"])
def test_bad_ngrams(ngrams, corpus, capsys):
    with pytest.raises(SystemExit):
        main(["fit", "--text", str(corpus), "-o", "m", "--ngrams", ngrams])
    assert "--ngrams" in capsys.readouterr().err


def test_explain_a_text(corpus, tmp_path, capsys):
    model = str(tmp_path / "m")
    main(["fit", "--text", str(corpus), "-o", model, "-S", "3"])
    capsys.readouterr()
    assert main(["explain", model, "--text", "Red APPLE!", "-k", "1"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("fruit: score")
    assert "d2  similarity" in printed
    assert main(["explain", model, "--text", "quidditch"]) == 0
    assert "no training row shares a feature" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [[], ["x.txt"], ["--row", "1"], ["x.txt", "--row", "1", "--text", "a"]]
)
def test_explain_wants_one_row(arguments, tmp_path, capsys):
    assert main(["explain", str(tmp_path), *arguments]) == 2
    assert "say which row" in capsys.readouterr().err


def test_predict_texts(corpus, tmp_path, capsys):
    model, new, out = str(tmp_path / "m"), tmp_path / "new.jsonl", tmp_path / "out.jsonl"
    main(["fit", "--text", str(corpus), "-o", model, "-S", "3"])
    queries = ["Red, red car", "apple trees", "quidditch", ""] * 3
    rows = [{"id": i, "text": text} for i, text in enumerate(queries)]
    rows.append({"id": "by name", "features": ["apple"]})
    new.write_text("".join(json.dumps(row) + "\n" for row in rows))
    # Any split into blocks gives the same rows.
    for size in ("100", "5"):
        assert main(["predict", model, str(new), "-o", str(out), "-k", "2", "--rows", size]) == 0
        answers = [json.loads(line) for line in out.read_text().splitlines()]
        out.unlink()
        assert [answer["id"] for answer in answers] == [row["id"] for row in rows]
        best = swnn_xp.load(model).topk_probabilities(queries, 2)
        for answer, labels, scores in zip(answers, best.labels, best.scores, strict=False):
            expected = scores[labels >= 0]
            given = answer["scores"]
            np.testing.assert_allclose(given, expected, rtol=1e-6)
        assert answers[-1]["labels"]


def test_fit_reads_texts_from_a_pipe(corpus, tmp_path):
    command = [sys.executable, "-m", "swnn_xp", "fit", "--text", "-", "-o", str(tmp_path / "m")]
    subprocess.run([*command, "--backend", "numpy"], input=corpus.read_bytes(), check=True)
    assert swnn_xp.load(tmp_path / "m").row_names_[0] == "d0"


def test_a_text_of_null_is_empty(corpus, tmp_path, capsys):
    model, new = str(tmp_path / "m"), tmp_path / "new.jsonl"
    main(["fit", "--text", str(corpus), "-o", model])
    capsys.readouterr()
    new.write_text('{"id": "a", "text": null}\n{"id": "b", "text": "red car"}\n')
    assert main(["predict", model, str(new), "-k", "1"]) == 0
    _, *lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[:2] for line in lines] == [["1", "b"]]


def test_explain_json_lines_beside_another_feature_map(corpus, tmp_path, capsys):
    main(["fit", "--text", str(corpus), "-o", str(tmp_path / "m")])
    (tmp_path / "feature_map.txt").write_text("of\nanother\ndata set\n")
    assert main(["explain", str(tmp_path / "m"), str(corpus), "--row", "0"]) == 0
    assert "vehicle: score" in capsys.readouterr().out


def test_unknown_features_beside_texts_are_counted(corpus, tmp_path, capsys):
    model, new = str(tmp_path / "m"), tmp_path / "new.jsonl"
    main(["fit", "--text", str(corpus), "-o", model])
    new.write_text('{"text": "red car"}\n{"features": ["car", "unicorn"]}\n')
    assert main(["predict", model, str(new)]) == 0
    assert "1 of 2 feature names are unknown to the model" in capsys.readouterr().err


def test_a_text_for_a_model_of_rows(tmp_path, capsys):
    swnn_xp.SWNNClassifier().fit([[1.0]], [[1]]).save(tmp_path / "m")
    (tmp_path / "new.jsonl").write_text('{"text": "red car"}\n')
    assert main(["predict", str(tmp_path / "m"), str(tmp_path / "new.jsonl")]) == 2
    assert "new.jsonl:1: has a text, but the model was not fitted on texts" in (
        capsys.readouterr().err
    )
    assert main(["explain", str(tmp_path / "m"), "--text", "red car"]) == 2
    assert "--text: the model was not fitted on texts" in capsys.readouterr().err


def test_a_token_pattern_that_is_no_regular_expression(corpus, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["fit", "--text", str(corpus), "-o", str(tmp_path / "m"), "--token-pattern", "("])
    assert "'(' is not a regular expression: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": 7}', "new.jsonl:1: text must be a string, not 7"),
        ('{"text": "a", "features": ["car"]}', "new.jsonl:1: has both a text and features"),
    ],
)
def test_predict_refuses(corpus, tmp_path, line, message, capsys):
    model, new = str(tmp_path / "m"), tmp_path / "new.jsonl"
    main(["fit", "--text", str(corpus), "-o", model])
    new.write_text(line + "\n")
    assert main(["predict", model, str(new)]) == 2
    assert message in capsys.readouterr().err
