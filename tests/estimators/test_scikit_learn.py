"""scikit-learn's own tools, and its own checks of estimators."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_html_repr
from sklearn.utils.estimator_checks import check_estimator

from swnn_xp import LearnedWeights, SWNNClassifier, SWNNRanker

NO_FEATURE = "METHOD.md: rows without any feature are legal, so a matrix may have no column"
REASONS = {
    "check_estimators_empty_data_messages": NO_FEATURE,
    "check_classifier_multioutput": "scores of a multi-label model are votes, none below 0: their "
    "threshold is not 0, and a label without a vote needs no place in a sparse matrix",
    "check_classifiers_multilabel_output_format_predict_proba": "wants probabilities strictly "
    "between 0 and 1; a share of votes may be exactly 0 or 1",
    "check_supervised_y_2d": "takes one column for one class per row; here it is one label, 0 or 1",
}
TRANSFORMER = {"check_estimators_empty_data_messages": NO_FEATURE}

TEXTS = ["sun sea", "sea ice", "sun sand", "ice snow", "sand sea sun", "snow and ice"] * 4
TAGS = np.asarray([[1, 0], [0, 1]] * 12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("estimator", "reasons"),
    [
        (SWNNClassifier(n_neighbors=5), REASONS),
        (SWNNRanker(n_neighbors=5), REASONS),
        (LearnedWeights(n_neighbors=5), TRANSFORMER),
    ],
    ids=lambda value: type(value).__name__,
)
def test_check_estimator(estimator, reasons):
    results = check_estimator(estimator, expected_failed_checks=reasons, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    assert {r["check_name"] for r in results if r["status"] == "xfail"} == set(reasons)


@pytest.fixture(scope="module", params=[SWNNClassifier, SWNNRanker])
def pipe(request):
    return make_pipeline(TfidfVectorizer(), request.param(n_neighbors=3))


@pytest.mark.parametrize(
    "scoring", ["f1_micro", "f1_macro", "average_precision", "roc_auc", "accuracy", "jaccard_micro"]
)
def test_scorers(pipe, scoring):
    assert cross_val_score(pipe, TEXTS, TAGS, cv=2, scoring=scoring).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("tags", [np.asarray(["warm", "cold"] * 12), np.asarray([4, 9] * 12)])
def test_scorers_of_one_class_per_row(pipe, tags):
    for scoring in ("accuracy", "f1_macro", "roc_auc"):
        assert cross_val_score(pipe, TEXTS, tags, cv=2, scoring=scoring).tolist() == [1.0, 1.0]
    assert cross_val_predict(pipe, TEXTS, tags, cv=2).tolist() == tags.tolist()


def test_scorers_of_sparse_labels(pipe):
    """cross_val_score itself refuses sparse labels; scorers and searches take them."""
    sparse = sp.csr_array(TAGS)
    assert get_scorer("f1_micro")(clone(pipe).fit(TEXTS, sparse), TEXTS, sparse) == 1.0


@pytest.mark.parametrize("method", ["predict_proba", "decision_function", "predict"])
def test_cross_val_predict(pipe, method):
    found = cross_val_predict(pipe, TEXTS, TAGS, cv=2, method=method)
    assert found.shape == TAGS.shape
    assert (found.argmax(axis=1) == TAGS.argmax(axis=1)).all()


def test_grid_search_and_display(pipe):
    name = pipe.steps[-1][0]
    search = GridSearchCV(pipe, {f"{name}__n_neighbors": [1, 3]}, cv=2, scoring="f1_micro")
    assert search.fit(TEXTS, TAGS).best_score_ == 1.0
    assert type(pipe[-1]).__name__ in estimator_html_repr(search)
    assert search.classes_[0].tolist() == [0, 1]


def test_metadata_routing(pipe):
    names = ["warm", "cold"]
    with sklearn.config_context(enable_metadata_routing=True):
        clf = clone(pipe[-1]).set_fit_request(label_names=True)
        assert clone(clf).get_metadata_routing().fit.requests["label_names"] is True
        routed = make_pipeline(TfidfVectorizer(), clf).fit(TEXTS, TAGS, label_names=names)
        assert routed[-1].label_names_ == names
        with pytest.raises(TypeError, match="Unexpected args: .'nonsense'"):
            clf.set_fit_request(nonsense=True)
    with pytest.raises(AttributeError, match="has no attribute 'set_nothing_request'"):
        clone(pipe[-1]).set_nothing_request()


def test_an_error_of_an_unfitted_estimator_is_known_to_both():
    from sklearn.exceptions import NotFittedError as Theirs

    from swnn_xp.sklearn_api import NotFittedError

    for error in (Theirs, NotFittedError):
        with pytest.raises(error, match="this SWNNClassifier is not fitted yet; call fit"):
            SWNNClassifier().predict([[1]])


def test_estimators_work_without_scikit_learn():
    code = """
import sys
sys.modules["sklearn"] = None
from swnn_xp import SWNNClassifier, SWNNRanker
for kind in (SWNNClassifier, SWNNRanker):
    clf = kind(n_neighbors=1)
    try:
        clf.predict([[1]])
    except ValueError as error:
        assert "not fitted" in str(error)
    clf.fit([[1, 0], [0, 1]], ["a", "b"])
    assert clf.predict([[1, 0]]).tolist() == ["a"] and not hasattr(clf, "set_fit_request")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_subclasses_may_hide_and_add_parameters():
    class Without(SWNNClassifier):
        def __init__(self):
            super().__init__(n_neighbors=3)

    class More(SWNNClassifier):
        def __init__(self, n_neighbors=3, **more):
            super().__init__(n_neighbors)

    X, y = np.eye(4), [0, 1, 0, 1]
    for clf in (Without(), More()):
        clf.fit(X, y)
        assert clf.predict(X).tolist() == clf.predict(X).tolist() == y
        clf.alpha = 0.0  # not a parameter of the subclass, and yet it counts
        assert clf.predict_topk(X + 1, 1).scores.tolist()[0] == [2.0]
