"""Labels that training rows must not get teach nothing, and stay so in every later training."""

import numpy as np
import pytest
import scipy.sparse as sp
from learn.problems import digest, rows_and_labels

from swnn_xp import SWNNRanker, load
from swnn_xp.learn.label_models import group_pairs

X, Y = rows_and_labels(n=120)
EXCLUDED = (np.random.default_rng(3).random(Y.shape) < 0.15) & (Y == 0)


def fitted(**params):
    return SWNNRanker(n_neighbors=9, **params).fit(X, Y, exclude=sp.csr_array(EXCLUDED.astype(int)))


def pairs_of(clf, monkeypatch, change):
    """All pairs of a row and a label that label models are trained on."""
    seen = []

    def group(blocks, truth, *more):
        pairs = group_pairs(blocks, truth, *more)
        at = np.searchsorted(pairs.indptr, np.arange(pairs.rows.size), side="right") - 1
        seen.append(set(zip(pairs.rows.tolist(), at.tolist(), strict=True)))
        return pairs

    for where in ("train", "relearn"):
        monkeypatch.setattr(f"swnn_xp.learn.{where}.group_pairs", group)
    change(clf)
    return seen


OUT = set(zip(*(part.tolist() for part in np.nonzero(EXCLUDED)), strict=True))


def test_excluded_pairs_are_not_learned_from(monkeypatch):
    exclude = np.argwhere(EXCLUDED)
    clf = SWNNRanker(n_neighbors=9, learn_weights=False, calibrate=False)
    (seen,) = pairs_of(clf, monkeypatch, lambda clf: clf.fit(X, Y, exclude=exclude))
    assert not seen & OUT
    (all_pairs,) = pairs_of(clf, monkeypatch, lambda clf: clf.fit(X, Y))
    assert all_pairs & OUT


def test_excluded_labels_of_a_row_are_not_learned_either(monkeypatch):
    own = np.argwhere(Y)[::5]
    clf = SWNNRanker(n_neighbors=9, learn_weights=False, calibrate=False, C=0.5)
    (seen,) = pairs_of(clf, monkeypatch, lambda clf: clf.fit(X, Y, exclude=own))
    assert not seen & set(map(tuple, own.tolist()))


def test_relearning_leaves_them_out(monkeypatch, tmp_path):
    clf = fitted(learn_weights=False)
    clf.save(tmp_path / "m")
    for again in (clf, load(tmp_path / "m", verify=True)):
        again.partial_fit(X[:1], Y[:1])
        (seen,) = pairs_of(again, monkeypatch, lambda clf: clf.relearn(range(7)))
        assert max(row for row, _ in seen) == 120  # all rows take part, so positions are rows
        assert not seen & OUT


def test_relearning_everything_is_fitting_again():
    alive = np.setdiff1d(np.arange(120), [4, 7])
    clf = fitted().remove([4, 7]).relearn("all")
    again = SWNNRanker(n_neighbors=9)
    again.fit(X[alive], Y[alive], exclude=sp.csr_array(EXCLUDED[alive].astype(int)))
    assert np.array_equal(clf.predict_topk(X).scores, again.predict_topk(X).scores)


def test_nothing_to_exclude_changes_nothing():
    nothing = np.zeros((0, 2), int)
    clf = SWNNRanker(n_neighbors=9).fit(X, Y, exclude=nothing)
    assert digest(clf) == digest(SWNNRanker(n_neighbors=9).fit(X, Y))


def test_new_labels_are_not_taken_for_others():
    clf = fitted().partial_fit(X[:3], np.pad(Y[:3], ((0, 0), (0, 4)), constant_values=1))
    clf.relearn()
    assert clf.predict_topk(X[:3], k=11).labels.max() == 10


def test_a_compressed_ranker_drops_them():
    assert fitted(keep=0.5).model_.excluded is None
    with pytest.raises(ValueError, match="exclude must have 120 rows"):
        SWNNRanker().fit(X, Y, exclude=sp.csr_array((3, 7)))
