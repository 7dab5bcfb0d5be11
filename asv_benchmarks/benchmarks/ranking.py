"""Learned ranking: the stages of training, and ranked labels, one row at a time and many."""

from __future__ import annotations

import copy
import functools
from pathlib import Path

from swnn_xp import SWNNClassifier

from . import data
from .common import (
    LARGE_BATCH,
    N_NEIGHBORS,
    RANKED,
    BackendSuite,
    BatchSizes,
    ManyAtOnce,
    OneByOne,
    OneBySession,
    Suite,
    device_of,
    measured_backends,
    require,
    wait,
)

N_TRAIN = 4000
SEED_SETTINGS = {"n_neighbors": 75, "n_candidates": 50, "C": 0.3, "vote_weight": 0.6, "missed": 0.0}


@functools.cache
def ranked(backend):
    """The ranker that `setup_cache` has trained, on a backend; revisions without one: n/a."""
    require(backend)
    if not Path(RANKED).exists():
        raise NotImplementedError("this revision has no ranker")
    from swnn_xp import load

    return load(RANKED, backend=backend, device=device_of(backend))


class RankedLatency(OneByOne):
    """Ranked labels."""

    def prepare(self, backend):
        self.prepare_rows(ranked(backend))
        self.ask(backend)

    def time_rank_32_rows_one_by_one(self, backend):
        self.ask(backend)


class RankedSessionLatency(OneBySession):
    """Ranked labels by a session."""

    def setup(self):
        if not hasattr(self, "session"):
            self.prepare_session(ranked("numba"))

    def time_rank_32_rows_one_by_one(self):
        self.ask()


class WeightedSessionLatency(OneBySession):
    """The published method with the ranker's feature weights, by a session."""

    def setup(self):
        if not hasattr(self, "session"):
            weights = ranked("numba").feature_weights_
            clf = SWNNClassifier(N_NEIGHBORS, n_jobs=1)
            X, Y = data.load("X_train"), data.load("y_train")
            self.prepare_session(clf.fit(X, Y, feature_weights=weights))

    def time_predict_32_rows_one_by_one(self):
        self.ask()


class RankedThroughput(ManyAtOnce):
    """Ranked labels."""

    def prepare(self, backend):
        self.prepare_rows(ranked(backend))
        self.ask(backend)

    def time_rank_256_rows(self, backend):
        self.ask(backend)


class RankedBatches(BatchSizes):
    """Ranked labels."""

    def model(self, backend):
        return ranked(backend)

    def time_rank(self, backend, rows, given):
        self.ask(backend)


class RankedCandidates(ManyAtOnce):
    """Ranked labels: the part of the time that follows the search."""

    def prepare(self, backend):
        self.prepare_rows(ranked(backend))
        self.model, self.options = self.clf.current_model(), self.clf.options
        self.queries = self.model.queries(self.rows)
        cuts, beta = self.model.ranking.selection.cuts, self.model.ranking.beta
        scaled = self.queries.scaled
        self.found = self.model.search(scaled, cuts[-1], beta, self.options)
        self.time_rank_candidates_of_256_rows(backend)

    def time_rank_candidates_of_256_rows(self, backend):
        self.model.ranking.rank_found(self.model, self.queries, self.found, 5, self.options)
        wait(backend)


class Neighbours(BackendSuite):
    """The first stage of training: leave-one-out neighbours of 256 rows, by backend."""

    params = (measured_backends(LARGE_BATCH),)
    batch = LARGE_BATCH

    def prepare(self, backend):
        from swnn_xp.backends.index import host_search
        from swnn_xp.rows.records import slice_rows

        model = ranked(backend).current_model()
        index, options = model.segments[0], ranked(backend).options
        self.search = host_search(index, model.placement, options)
        self.found_for = slice_rows(model.rows(), 0, min(LARGE_BATCH, index.n_rows))
        self.time_neighbours_of_256_rows(backend)

    def time_neighbours_of_256_rows(self, backend):
        self.search(self.found_for, 76, 1.0)


class Training(Suite):
    """A ranker of 4,000 rows by `fit` with the defaults of the revision."""

    def setup(self):
        if not hasattr(self, "ranker"):
            clf = ranked("numba")
            self.X, self.Y = data.load("X_train")[:N_TRAIN], data.load("y_train")[:N_TRAIN]
            self.ranker = type(clf)(n_jobs=1)
            self.time_fit()

    def time_fit(self):
        self.ranker.fit(self.X, self.Y)


class Stages(Suite):
    """The stages that run on the CPU whatever the backend: 4,000 rows, 75 neighbours, K = 50."""

    repeat = (10, 20, 3.0)  # of four samples, a busy machine slowed two by half

    def setup(self):
        if hasattr(self, "stats"):
            return
        ranked("numba")
        from swnn_xp.learn import train
        from swnn_xp.learn.settings import TrainingSettings
        from swnn_xp.rows.canonical import label_rows
        from swnn_xp.rows.records import slice_rows

        self.train, self.settings = train, TrainingSettings(**SEED_SETTINGS, calibrate=False)
        X, Y = data.load("X_train"), data.load("y_train")
        model, n_rows = ranked("numba").current_model(), min(N_TRAIN, X.shape[0])
        rows, labels = slice_rows(model.rows(), 0, n_rows), label_rows(Y[:n_rows])
        self.training = train.Training(rows, rows, labels)
        index = type(model.segments[0]).build(rows, model.placement)
        self.found = [index.search(rows, min(76, n_rows), 1.0)]
        self.blocks = train.to_candidates(self.training, self.found, self.settings)
        self.stats = self.measure()

    def measure(self):
        return self.train.measure_candidates(self.training, self.blocks, self.settings, _quiet)

    def time_candidates(self):
        self.train.to_candidates(self.training, self.found, self.settings)

    def time_vote_score(self):
        self.measure()

    def time_label_models(self):
        self.train.train_ranking(self.training, self.stats, self.settings, _quiet, keep=True)


class Relearning(Suite):
    """Two rows more, and their labels trained again."""

    def setup(self):
        if not hasattr(self, "changed"):
            clf = ranked("numba")
            if not hasattr(clf, "relearn"):
                raise NotImplementedError("this revision does not relearn")
            rows, labels = data.load("X_test")[:2], data.load("y_test")[:2]
            self.changed = copy.copy(clf).partial_fit(rows, labels)
            self.time_relearn_labels_of_two_rows()

    def time_relearn_labels_of_two_rows(self):
        copy.copy(self.changed).relearn()


def _quiet(stage, done, total):
    pass
