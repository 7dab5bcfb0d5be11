"""`predict_names`: names of labels, without the padding of `predict_topk`."""

import numpy as np
import pytest

from swnn_xp import SWNNClassifier, SWNNRanker

X = np.asarray([[1.0, 1, 0], [0, 1, 1], [1, 0, 0], [0, 0, 1]] * 5)
Y = np.asarray([[1, 0, 1], [0, 1, 0], [1, 0, 0], [0, 1, 0]] * 5)
NAMES = ["warm", "cold", "last"]


@pytest.fixture(scope="module", params=[SWNNClassifier, SWNNRanker])
def clf(request):
    return request.param(n_neighbors=3).fit(X, Y, label_names=NAMES)


def test_padding_is_dropped(clf):
    """Indexing names by -1, as the padding invites to do, gives the last name."""
    queries = np.asarray([[2.0, 0, 0], [0, 0, 0], [0, 0, 3]])
    labels = clf.predict_topk(queries, k=3).labels
    assert (labels == -1).any()
    expected = [[NAMES[label] for label in row if label != -1] for row in labels.tolist()]
    assert clf.predict_names(queries, k=3) == expected
    assert expected[1] == []
    assert "last" not in expected[2]


def test_a_model_without_names_says_so(clf):
    with pytest.raises(ValueError, match="the model has no label names: give label_names to fit"):
        type(clf)(n_neighbors=3).fit(X, Y).predict_names(X[:1])
