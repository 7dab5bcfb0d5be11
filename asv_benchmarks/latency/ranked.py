"""What an answer of a ranker costs, stage by stage, beside the paper's loop over all rows."""

from __future__ import annotations

import copy

import numpy as np
from results import compared, record

from swnn_kernels.learn.scorer import Scorer
from swnn_kernels.learn.session import CandidateRanker
from swnn_xp import SWNNRanker
from swnn_xp.metrics import precision_at_k

SETTINGS = (
    ({}, (1.0, 0.25, 0.1, 0.05)),
    ({"n_neighbors": 25, "n_candidates": 25}, (0.1, 0.05)),
)


class Stages:
    """Ways to run some stages of an answer, each on its own."""

    def __init__(self, clf):
        model, self.session = clf._model, clf.session()
        learned, labels = model.learned, model.placed_labels.prepared
        ranker = learned.checked_ranker
        alone = ranker._replace(modelled=np.zeros_like(ranker.modelled))
        scorers = Scorer.prepare(alone, learned.n_features), learned.scorer
        self.votes, self.ranking = (
            CandidateRanker(labels, scorer, learned.selection) for scorer in scorers
        )

    def ways(self, raw):
        """Functions of a query's number: all of it; search; votes; votes and label models."""
        found = [tuple(self.session._positions_one(*row)) for row in raw]
        return (
            lambda q: self.session.predict_one(*raw[q]),
            lambda q: self.session._positions_one(*raw[q]),
            lambda q: self.votes.rank_one(*raw[q], found[q], 5),
            lambda q: self.ranking.rank_one(*raw[q], found[q], 5),
        )


def report_ranked(problem, best_times, path):
    """Print a line for each part of the rows that the index keeps, and for fewer candidates."""
    print(f"\n{problem.name}, ranked, against the paper's loop over all rows at S=25, beta=1; µs")
    print("  kept    rows   S   K  search  votes  models  answer    p99  paper  ratio  P@1,3,5")
    for params, parts in SETTINGS:
        data = problem.data
        whole = SWNNRanker(calibrate=False, **params).fit(data.X_train, data.Y_train)
        for keep in parts:
            clf = whole if keep == 1 else copy.deepcopy(whole).compress(keep)
            print(_line(problem, best_times, clf, keep, path), flush=True)


def _line(problem, best_times, clf, keep, path):
    data = problem.data
    ways = Stages(clf).ways(problem.raw)
    times = best_times(problem.n_queries, problem.paper(25, 1.0), *ways)
    paper, answer, search, votes, ranking = times.mean(axis=1)
    labels = clf.predict_topk(data.X_test, k=5).labels
    precisions = [100 * precision_at_k(data.Y_test, labels, k) for k in (1, 3, 5)]
    values = " ".join(f"{value:.2f}" for value in precisions)
    if path:
        record(
            path, kind="ranked", dataset=problem.name, n_neighbors=clf.n_neighbors_,
            n_candidates=clf.n_candidates_, keep=keep, rows=clf.n_samples_fit_,
            search_us=round(search, 1), votes_us=round(votes, 1),
            models_us=round(ranking - votes, 1), precision=[round(p, 2) for p in precisions],
            **compared(times[0], times[1]),
        )  # fmt: skip
    return (
        f" {keep:5.0%} {clf.n_samples_fit_:7d} {clf.n_neighbors_:3d} {clf.n_candidates_:3d}"
        f" {search:7.1f} {votes:6.1f} {ranking - votes:7.1f} {answer:7.1f}"
        f" {np.percentile(times[1], 99):6.1f} {paper:6.1f} {paper / answer:6.2f}  {values}"
    )
