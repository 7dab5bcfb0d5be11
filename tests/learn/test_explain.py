"""The parts of a score add up to it exactly, for every label that is returned."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from contract.problems import problems
from hypothesis import given, settings
from hypothesis import strategies as st
from learn.problems import rows_and_labels

from swnn_xp import SWNNRanker

X, Y = rows_and_labels()


def listed_score(found):
    return sum(part.score for part in found.evidence)


def check_row(clf, row, k=10):
    labels, scores = clf.predict_topk(row, k)
    explained = []
    for label, score in zip(labels[0].tolist(), scores[0].tolist(), strict=True):
        if label < 0:
            continue
        found = clf.explain(row, label)
        assert found.label == label
        assert found.score == score == found.vote + listed_score(found) + found.model
        assert all(part.features for part in found.evidence)
        parts = [feature.contribution for feature in found.features]
        assert found.bias + sum(parts) == found.model
        assert sum(map(Fraction, parts), Fraction(found.bias)) == Fraction(found.model)
        assert parts == sorted(parts, key=lambda part: -abs(part))
        assert found.probability == clf.predict_proba(row)[0, label]
        assert found.voters or found.evidence
        explained.append(found)
    return explained


@settings(max_examples=25)
@given(problem=problems(), S=st.integers(1, 15), options=st.tuples(st.booleans(), st.booleans()))
def test_parts_add_up(problem, S, options):
    clf = SWNNRanker(n_neighbors=S, learn_weights=options[0], centroids=options[1])
    clf.fit(problem.X, problem.Y)
    for query in problem.Q:
        check_row(clf, query[None, :])


@pytest.mark.parametrize("backend", ["numba", "numpy", "array-api"])
def test_in_every_state_of_a_model(backend):
    names = {
        "feature_names": [f"word {i}" for i in range(15)],
        "label_names": [f"label {i}" for i in range(7)],
    }
    clf = SWNNRanker(n_neighbors=9, backend=backend).fit(X[:60], Y[:60], **names)
    wider = np.hstack([Y[60:66], np.ones((6, 1), int)])
    for change in (
        lambda: None,
        lambda: clf.partial_fit(X[60:66], wider, label_names=[*names["label_names"], "new"]),
        lambda: clf.remove([1, 61]),
        lambda: clf.compact(),
    ):
        change()
        explained = [found for row in X[:70:7] for found in check_row(clf, row[None, :])]
        assert any(found.features for found in explained)
    new = [found for found in explained if found.name == "new"]
    assert new
    assert all(found.model == 0 and found.features == () for found in new)
    assert {f.name for found in explained for f in found.features} <= set(names["feature_names"])
    assert clf.explain(sp.csr_array(X[:1]), "label 2") == clf.explain(X[0], 2)


def test_the_text_says_both_parts():
    clf = SWNNRanker(n_neighbors=9).fit(X, Y)
    label = int(clf.predict_topk(X[:1], 1).labels[0, 0])
    text = str(clf.explain(X[0], label))
    assert "vote" in text.splitlines()[0]
    assert "bias" in text.splitlines()[1]
    assert "similarity" in text.splitlines()[2]


def test_a_label_without_votes_and_bad_arguments():
    clf = SWNNRanker(n_neighbors=3).fit(np.eye(4), np.eye(4))
    found = clf.explain(np.eye(4)[0], 3)
    assert found.voters == ()
    assert found.score == found.vote + found.model
    assert clf.explain(np.zeros(4), 0).voters == ()
    with pytest.raises(ValueError, match="label 4 is outside"):
        clf.explain(np.eye(4)[0], 4)
    with pytest.raises(ValueError, match="explain takes one row, got 4"):
        clf.explain(np.eye(4), 0)
