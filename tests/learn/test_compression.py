"""Fewer rows in the index: which ones are kept, for what they vote, and what stays the same."""

import copy
import threading
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import swnn_xp
from swnn_xp import SWNNClassifier, SWNNRanker
from swnn_xp.cli.main import main
from swnn_xp.learn import compression
from swnn_xp.learn.compression import merged_labels, unscaled_rows
from swnn_xp.model.changes import covering_rows
from swnn_xp.rows.canonical import label_rows
from swnn_xp.tuning.keeping import smallest_part

RNG = np.random.default_rng(5)
N, TOPICS, WIDTH = 400, 8, 40
TOPIC = RNG.integers(0, TOPICS, N)
DENSE = (RNG.random((N, WIDTH)) < 0.1) * 1.0
for column in range(3):  # three words of its topic in each row, most of the time
    DENSE[np.arange(N), TOPIC * 3 + column] += RNG.random(N) < 0.8
X = sp.csr_array(DENSE)
LABELS = np.zeros((N, TOPICS + 2), np.int8)
LABELS[np.arange(N), TOPIC] = 1
LABELS[7, TOPICS] = LABELS[[9, 300], TOPICS + 1] = 1  # rare ones
Y = sp.csr_array(LABELS)


@pytest.fixture(scope="module")
def ranker():
    return SWNNRanker(n_neighbors=10).fit(X, Y)


@pytest.mark.parametrize("keep", [0.001, 0.03, 0.1, 0.5, 1.0])
def test_the_part_has_its_size_and_every_label_it_has_room_for(keep):
    labels = label_rows(Y, "y")
    kept = covering_rows(labels, keep, seed=3)
    assert kept.size == max(1, round(keep * N))
    assert np.all(np.diff(kept) > 0)
    if kept.size >= TOPICS + 2:
        assert set(Y[kept].indices) == set(range(TOPICS + 2))
    assert np.array_equal(kept, covering_rows(labels, keep, seed=3))


def test_rows_without_labels_are_kept_last():
    labels = label_rows(sp.csr_array([[0], [0], [0], [1]]), "y")
    assert all(3 in covering_rows(labels, 0.25, seed) for seed in range(5))
    assert covering_rows(label_rows(sp.csr_array((4, 2)), "y"), 0.5).size == 2


def test_a_row_votes_for_the_labels_of_those_it_stands_for():
    nearest = RNG.integers(-1, 5, N)
    merged = merged_labels(label_rows(Y, "y"), nearest, 6)
    for row in range(6):
        wanted = np.flatnonzero(LABELS[nearest == row].any(axis=0))
        got = merged.indices[merged.indptr[row] : merged.indptr[row + 1]]
        assert got.tolist() == wanted.tolist()


@pytest.mark.parametrize("copies", [1, 4])
def test_candidates_leave_out_the_row_that_stands_for_a_row(copies):
    # Every row, with its copies, stands alone with a label of its own: nobody else can vote for it.
    alone = sp.csr_array(np.tile(np.eye(30) + 0.1, (copies, 1)))
    labels = sp.csr_array(np.tile(np.eye(30), (copies, 1)))
    clf = SWNNRanker(n_neighbors=5, learn_weights=False, keep=0.5).fit(alone, labels)
    assert clf.candidate_recall_ == 0


def test_compress_is_fit_with_keep(ranker):
    small = copy.deepcopy(ranker).compress(0.1)
    fitted = SWNNRanker(n_neighbors=10, keep=0.1).fit(X, Y)
    assert small.n_samples_fit_ == fitted.n_samples_fit_ == N // 10
    found, wanted = small.kneighbors(X), fitted.kneighbors(X)
    assert np.array_equal(found.ids, wanted.ids)
    for mine, its in zip(small.topk_probabilities(X), fitted.topk_probabilities(X), strict=True):
        assert np.array_equal(mine, its)
    assert small.score(X, Y) > 0.8


def test_the_rows_come_back_without_their_weights(ranker):
    assert np.array_equal(unscaled_rows(ranker.model_).values, X.data)
    rows = unscaled_rows(replace(ranker.model_, values=None))
    lengths = np.sqrt(X.multiply(X).sum(axis=1))
    back = sp.csr_array((rows.values, rows.indices, rows.indptr), X.shape)
    lengths_back = np.sqrt(back.multiply(back).sum(axis=1))
    unit = sp.diags_array(1 / lengths) @ X
    assert abs(unit - sp.diags_array(1 / lengths_back) @ back).max() < 1e-3


@pytest.mark.parametrize("backend", ["numba", "numpy"])
def test_a_compressed_ranker_is_a_model_like_any_other(ranker, backend, tmp_path):
    small = copy.deepcopy(ranker).compress(0.1)
    wanted = small.predict_topk(X)
    small.save(tmp_path / "small")
    opened = SWNNRanker.load(tmp_path / "small", backend=backend, verify=True)
    assert opened.keep == 0.1
    assert np.array_equal(opened.predict_topk(X).scores, wanted.scores)
    assert set(opened.kneighbors(X[:5], 3).ids.ravel()) <= set(range(N))
    opened.partial_fit(X[:3], Y[:3])
    assert opened.kneighbors(X[[0]], 1).ids[0, 0] in range(N + 3)
    if backend == "numba":
        row = X[[4]]
        best = small.session().predict_one(row.indices, row.data)
        assert np.array_equal(best.scores, wanted.scores[4])


def test_removed_rows_stay_away_and_ids_stay():
    clf = SWNNRanker(n_neighbors=10).fit(X, Y).remove(np.arange(0, N, 2)).compress(0.25)
    assert clf.n_samples_fit_ == N // 8
    assert np.all(clf.kneighbors(X[:20]).ids[:, 0] % 2 == 1)


def test_a_model_whose_rows_are_all_removed():
    clf = SWNNRanker(n_neighbors=10).fit(X[:20], Y[:20]).remove(np.arange(20)).compress(0.5)
    assert clf.n_samples_fit_ == 0
    assert np.all(clf.predict_topk(X[:2]).labels == -1)


def test_rows_that_stand_for_others_are_not_compressed_again(ranker):
    small = copy.deepcopy(ranker).compress(0.1)
    for again in (lambda: small.compress(0.5), lambda: smallest_part(small, 0.5)):
        with pytest.raises(ValueError, match="fit again"):
            again()


def test_rows_that_are_gone_can_not_be_learned_from_again(ranker):
    small = copy.deepcopy(ranker).compress(0.1).partial_fit(X[:1], Y[:1])
    assert small.model_.ranking.known is None
    for labels in (None, "all", [0]):
        with pytest.raises(ValueError, match=r"kept a part \(keep=0.1\) and the others are gone"):
            small.relearn(labels)


@pytest.mark.parametrize("keep", [0, -0.1, 1.5, "0.1", np.nan, True])
@pytest.mark.parametrize("clf", [SWNNClassifier(), SWNNRanker(n_neighbors=3)])
def test_bad_parts_are_refused(clf, keep):
    clf = clf.fit(X[:20], Y[:20])
    with pytest.raises(ValueError, match="keep must be"):
        clf.compress(keep)
    assert clf.n_samples_fit_ == 20


def test_the_plain_method_keeps_rows_and_labels():
    clf = SWNNClassifier().fit(X, Y)
    found = clf.compress(0.5).kneighbors(X, n_neighbors=N)
    kept = np.unique(found.ids[found.ids >= 0])
    assert clf.n_samples_fit_ == N // 2 == kept.size
    assert np.array_equal(clf.label_counts_, LABELS[kept].sum(axis=0))
    assert np.array_equal(
        clf.predict_topk(X).scores, SWNNClassifier().fit(X[kept], Y[kept]).predict_topk(X).scores
    )


def test_the_command_finds_the_part_or_takes_it(tmp_path, capsys):
    SWNNClassifier().fit(X, Y).save(tmp_path / "model")
    small = ["compress", str(tmp_path / "model"), "-o", str(tmp_path / "small")]
    assert main([*small, "--keep", "0.25"]) == 0
    assert swnn_xp.load(tmp_path / "small").n_samples_fit_ == N // 4
    assert "100 of 400 rows" in capsys.readouterr().out
    assert main([*small, "--max-loss", "100"]) == 0
    assert swnn_xp.load(tmp_path / "small").n_samples_fit_ == 8
    assert "2% of the rows" in capsys.readouterr().out


def test_the_part_grows_until_nothing_is_lost():
    alike = sp.csr_array(np.repeat(np.eye(30), 4, axis=0))
    trials = []
    part = smallest_part(
        SWNNClassifier(n_neighbors=1).fit(alike, alike), 0, on_progress=trials.append
    )
    assert part == 0.35  # the first that has room for one row of each label
    assert [trial.keep for trial in trials] == [1.0, 0.02, 0.05, 0.1, 0.2, 0.35]
    assert trials[0].precision == trials[-1].precision == 100


@pytest.mark.parametrize("keep", [0.05, 0.5])
def test_the_part_kept_does_not_change_how_closely_models_fit(ranker, keep):
    small = copy.deepcopy(ranker).compress(keep)
    assert (small.C_, small.vote_weight_) == (ranker.C_, ranker.vote_weight_)  # all rows sampled


def test_fewer_rows_need_fewer_neighbours_unless_a_number_was_asked_for(ranker):
    assert copy.deepcopy(ranker).compress(0.25).n_neighbors_ == 10
    whole = SWNNRanker().fit(X, Y)
    small, fitted = copy.deepcopy(whole).compress(0.25), SWNNRanker(keep=0.25).fit(X, Y)
    assert small.n_neighbors_ == fitted.n_neighbors_ == round(whole.n_neighbors_ / 2)
    assert np.array_equal(small.predict_topk(X).scores, fitted.predict_topk(X).scores)


def test_agreement_of_a_sample_is_near_that_of_all_rows(ranker, monkeypatch):
    monkeypatch.setattr(compression, "_SAMPLE", 150)
    small = copy.deepcopy(ranker).compress(0.25)
    assert abs(small.C_ - ranker.C_) < 0.1


def test_an_error_at_the_very_end_leaves_the_ranker_as_it_was(ranker, monkeypatch):
    def fail(*_):
        raise MemoryError

    clf = copy.deepcopy(ranker)
    monkeypatch.setattr("swnn_xp.ranker.trained_now", fail)
    with pytest.raises(MemoryError):
        clf.compress(0.1)
    assert clf.keep == 1
    assert np.array_equal(clf.predict_topk(X).scores, ranker.predict_topk(X).scores)


def test_queries_go_on_while_the_ranker_is_compressed(ranker):
    clf, stop, faults = copy.deepcopy(ranker), threading.Event(), []

    def ask():
        while not stop.is_set():
            try:
                clf.predict_topk(X[:1], k=1)
            except ValueError as error:
                faults.append(str(error))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    clf.compress(0.1)
    stop.set()
    for thread in threads:
        thread.join()
    assert not faults
    clf.keep = 0.5
    with pytest.raises(ValueError, match="keep=0.5, but the ranker was trained with 0.1"):
        clf.predict_topk(X[:1])
