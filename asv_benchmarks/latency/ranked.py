"""What an answer of a ranker costs, stage by stage, beside the paper's loop over all rows."""

from __future__ import annotations

import copy

import numpy as np
from recorded import record

from swnn_kernels.learn.scorer import Scorer
from swnn_kernels.learn.session import CandidateRanker
from swnn_xp import SWNNRanker
from swnn_xp.metrics import precision_at_k

_FEW = {"n_neighbors": 10, "n_candidates": 50, "centroids": False}
SETTINGS = (
    ({"search": "exact"}, (1.0, 0.25, 0.1, 0.05)),
    ({"search": 5_000}, (1.0,)),
    ({"search": 2_000}, (1.0,)),
    (_FEW | {"search": "exact"}, (0.1, 0.05, 0.03)),
    (_FEW | {"search": 1_000}, (1.0,)),
    (_FEW | {"search": 500}, (1.0, 0.1)),
)


class Stages:
    """Ways to run some stages of an answer, each on its own."""

    def __init__(self, clf):
        model, self.session = clf.model_, clf.session()
        learned, labels = model.ranking, model.placed_labels.prepared
        ranker = learned.checked_ranker
        alone = ranker._replace(modelled=np.zeros_like(ranker.modelled))
        scorers = Scorer.prepare(alone, learned.n_features), learned.scorer
        self.votes, self.ranking = (
            CandidateRanker(labels, scorer, learned.selection, learned.listers(model))
            for scorer in scorers
        )

    def ways(self, raw):
        """Functions of a query's number: all of it; search; votes; votes and label models."""
        found = [tuple(self.session._find_one(*row)) for row in raw]
        return (
            lambda q: self.session.predict_one(*raw[q]),
            lambda q: self.session._find_one(*raw[q]),
            lambda q: self.votes.rank_one(*raw[q], found[q], 5),
            lambda q: self.ranking.rank_one(*raw[q], found[q], 5),
        )


def report_ranked(problem, data, best_times):
    """Print a line for each part of the rows that the index keeps, and for fewer candidates."""
    print(f"\n{problem.name}, ranked, against the paper's loop over all rows at S=25, beta=1; µs")
    print(
        "  kept    rows   S   K    cap  search  votes  models  answer    p99  paper  ratio  P@1,3,5"
    )
    rows = []
    for params, parts in SETTINGS:
        whole = SWNNRanker(calibrate=False, **params).fit(data.X_train, data.y_train)
        for keep in parts:
            clf = whole if keep == 1 else copy.deepcopy(whole).compress(keep)
            rows.append(_figures(problem, data, best_times, clf, keep))
            print(_line(rows[-1]), flush=True)
    record("ranked_latency", rows, ("dataset", "keep", "K", "search"))


def _figures(problem, data, best_times, clf, keep):
    """A row of docs/data/ranked_latency.json."""
    ways = Stages(clf).ways(problem.raw)
    times = best_times(problem.n_queries, problem.paper(25, 1.0), *ways)
    paper, answer, search, votes, ranking = times.mean(axis=1)
    labels = clf.predict_topk(data.X_test, k=5).labels
    row = {"dataset": problem.name, "keep": keep, "rows": clf.n_samples_fit_}
    row |= {"S": clf.n_neighbors_, "K": clf.n_candidates_, "search": clf.search_}
    spent = {"search_us": search, "votes_us": votes, "models_us": ranking - votes}
    spent |= {"answer_us": answer, "p99_us": np.percentile(times[1], 99), "loop_us": paper}
    row |= {name: round(float(value), 1) for name, value in spent.items()}
    row["ratio"] = round(float(paper / answer), 2)
    return row | {
        f"P@{k}": round(100 * precision_at_k(data.y_test, labels, k), 2) for k in (1, 3, 5)
    }


def _line(row):
    values = " ".join(f"{row[f'P@{k}']:.2f}" for k in (1, 3, 5))
    return (
        f" {row['keep']:5.0%} {row['rows']:7d} {row['S']:3d} {row['K']:3d} {row['search']:>6}"
        f" {row['search_us']:7.1f} {row['votes_us']:6.1f} {row['models_us']:7.1f}"
        f" {row['answer_us']:7.1f} {row['p99_us']:6.1f} {row['loop_us']:6.1f}"
        f" {row['ratio']:6.2f}  {values}"
    )
