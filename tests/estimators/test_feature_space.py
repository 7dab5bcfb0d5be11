"""Queries with other columns than those of `fit` are refused, with a way out."""

import numpy as np
import pytest
import scipy.sparse as sp
from estimators.test_label_forms import Frame

from swnn_xp import LearnedWeights, SWNNClassifier, SWNNRanker, load, write_names, write_xmc
from swnn_xp.cli.main import main
from swnn_xp.store import StoreError

X = np.asarray([[1.0, 1, 0], [0, 1, 1], [1, 0, 0], [0, 0, 1]] * 5)
Y = np.asarray([[1, 0], [0, 1], [1, 0], [0, 1]] * 5)
COLUMNS = ["sun", "sea", "ice"]
CALLS = {
    "predict_topk": lambda clf, Q: clf.predict_topk(Q),
    "topk_probabilities": lambda clf, Q: clf.topk_probabilities(Q),
    "kneighbors": lambda clf, Q: clf.kneighbors(Q),
    "predict": lambda clf, Q: clf.predict(Q),
    "predict_proba": lambda clf, Q: clf.predict_proba(Q),
    "decision_function": lambda clf, Q: clf.decision_function(Q),
    "explain": lambda clf, Q: clf.explain(Q[:1] if hasattr(Q, "__getitem__") else Q, 0),
    "partial_fit": lambda clf, Q: clf.partial_fit(Q, Y[: Q.shape[0]]),
}


@pytest.fixture(scope="module", params=[SWNNClassifier, SWNNRanker])
def fitted(request):
    return request.param(n_neighbors=3).fit(Frame(X, COLUMNS), Y)


@pytest.mark.parametrize("call", CALLS)
def test_other_columns_are_refused(fitted, call):
    with pytest.raises(ValueError, match=r"X has 2 features, but SWNN\w+ is expecting 3 features"):
        CALLS[call](fitted, X[:1, :2])
    if call != "explain":
        with pytest.raises(ValueError, match=r"column 0 is 'sea', not 'sun' .the same columns in"):
            CALLS[call](fitted, Frame(X[:1], ["sea", "sun", "ice"]))


def test_what_is_refused_and_what_not(fitted):
    assert fitted.feature_names_in_.tolist() == fitted.feature_names_ == COLUMNS
    same = fitted.predict_topk(X[:2])
    for other in (Frame(X[:2], COLUMNS), sp.csr_array(X[:2]), X[:2].tolist()):
        for mine, its in zip(fitted.predict_topk(other), same, strict=True):
            np.testing.assert_array_equal(mine, its)
    for wrong, message in (
        (["sun", "sea", "fog"], "column 2 is 'fog', not 'ice'$"),
        (["sun", "sea", 3], "column names must be all strings, or none of them"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted.predict_topk(Frame(X[:2], wrong))
    with pytest.raises(ValueError, match="should match .*: there are 2 columns, not 3"):
        fitted.predict_topk(Frame(X[:2, :2], COLUMNS[:2]))


def test_narrower_matrices_on_request(fitted):
    with pytest.raises(ValueError, match="allow_narrower=True takes missing columns for zeros"):
        fitted.predict_topk(X[:1, :2])
    kind = type(fitted)(n_neighbors=3, allow_narrower=True).fit(X, Y)
    for mine, its in zip(
        kind.predict_topk(X[:4, :2]), kind.predict_topk(X[:4] * [1, 1, 0]), strict=True
    ):
        np.testing.assert_array_equal(mine, its)
    with pytest.raises(AttributeError, match="no feature names"):
        _ = kind.feature_names_in_
    with pytest.raises(ValueError, match="allow_narrower must be True or False, got 1"):
        kind.set_params(allow_narrower=1).predict_topk(X)


def test_weights_check_columns_too():
    weights = LearnedWeights(n_neighbors=3).fit(Frame(X, COLUMNS), Y)
    assert weights.feature_names_in_.tolist() == COLUMNS
    with pytest.raises(ValueError, match="column 0 is 'ice', not 'sun'"):
        weights.transform(Frame(X, COLUMNS[::-1]))
    with pytest.raises(ValueError, match="X has 2 features, but LearnedWeights is expecting 3"):
        weights.transform(X[:, :2])
    assert not hasattr(weights.fit(X, Y), "feature_names_in_")
    assert not hasattr(weights, "set_fit_request"), "there is nothing to pass on"


def test_a_saved_model_keeps_its_feature_space(fitted, tmp_path, monkeypatch):
    fitted.save(tmp_path / "m")
    again = load(tmp_path / "m", verify=True)
    assert again.feature_space_ == fitted.feature_space_
    monkeypatch.setattr("swnn_xp.model.files.fingerprint", lambda _: 7)
    fitted.save(tmp_path / "forged")
    with pytest.raises(StoreError, match="feature_space is no digest of feature_names: 7"):
        load(tmp_path / "forged")


@pytest.fixture
def files(tmp_path):
    """A model of three named features, and files of other feature spaces."""
    made = {}
    for name, columns, matrix in (
        ("same", COLUMNS, X),
        ("other", ["sun", "fog", "ice"], X),
        ("narrow", None, X[:, :2]),
    ):
        (tmp_path / name).mkdir()
        made[name] = tmp_path / name / "rows.txt"
        write_xmc(made[name], sp.csr_array(matrix), sp.csr_array(Y))
        if columns:
            write_names(tmp_path / name / "feature_map.txt", columns)
    made["model"] = tmp_path / "model"
    assert main(["fit", str(made["same"]), "-o", str(made["model"])]) == 0
    return made


def test_json_lines_are_not_compared_with_a_feature_map_beside_them(files, capsys):
    rows = files["other"].with_suffix(".jsonl")
    rows.write_text('{"features": {"sea": 1}}\n')
    assert main(["predict", str(files["model"]), str(rows)]) == 0
    assert main(["explain", str(files["model"]), str(rows), "--row", "0"]) == 0


@pytest.mark.parametrize("command", [["predict"], ["evaluate"], ["explain", "--row", "0"]])
def test_commands_compare_feature_spaces(files, capsys, command):
    first, *more = command

    def run(name, *options):
        status = main([first, str(files["model"]), str(files[name]), *more, *options])
        return status, capsys.readouterr().err

    assert run("same")[0] == 0
    status, message = run("other")
    assert status != 0
    assert "names other features than the model's: feature 1 is 'fog', not 'sea'" in message
    assert "--ignore-feature-map" in message
    assert run("other", "--ignore-feature-map")[0] == 0
    status, message = run("narrow")
    assert status != 0
    assert "has 2 features, but the model was fitted with 3; if they are its first ones" in message
    assert run("narrow", "--allow-narrower")[0] == 0


@pytest.mark.parametrize("n", [2, 4])
def test_feature_weights_of_another_number(n):
    message = f"^feature_weights has {n} weights, but X has 3 features$"
    with pytest.raises(ValueError, match=message):
        SWNNClassifier(n_neighbors=3).fit(X, Y, feature_weights=np.ones(n))
