"""The ways to the same answer: backends, kernels, blocks, sessions, shards, files, fitting again.

Each takes a case, its model on the numba backend and queries, and returns what `answers` does.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import oracle
import scipy.sparse as sp
from soak.cases import N_QUERIES, Case, ids_left, model

import swnn_kernels
from swnn_xp import load
from swnn_xp.backends import BACKENDS

Answers = dict[str, tuple[np.ndarray, ...]]


class Way(NamedTuple):
    answer: Callable[[Case, Any, sp.csr_array], Answers]
    most: int = N_QUERIES
    """Queries of a round that it answers: the slower, the fewer."""
    every: int = 1
    """Rounds between two turns."""
    fits: Callable[[Case], bool] = lambda case: True


def answers(case: Case, clf: Any, Q: sp.csr_array) -> Answers:
    """Neighbours, and labels with scores and perhaps probabilities."""
    ranked = (
        clf.topk_probabilities(Q, case.k) if case.probabilities else clf.predict_topk(Q, case.k)
    )
    return {"neighbours": tuple(clf.kneighbors(Q)), "labels": tuple(ranked)}


def on_backend(name: str, products: bool = False) -> Callable[..., Answers]:
    """Every step of the history there; rankers are trained on numba, but for every fourth."""

    def answer(case: Case, clf: Any, Q: sp.csr_array) -> Answers:
        if case.ranked and case.number % 4:
            there = copy.copy(clf).set_params(backend=name)
        else:
            there = model(case, name)
        found = answers(case, there, Q)
        assert there.backend_ == name
        return found

    def by_products(case: Case, clf: Any, Q: sp.csr_array) -> Answers:
        with mock.patch("swnn_xp.backends.cupy_.kernels_fit", return_value=False):
            return answer(case, clf, Q)

    return by_products if products else answer


def in_blocks(case: Case, clf: Any, Q: sp.csr_array) -> Answers:
    """Two or three threads, and blocks of a few queries."""
    rng = np.random.default_rng(case.number)
    options = {"n_jobs": int(rng.integers(2, 4)), "memory_budget": int(10 ** rng.uniform(3, 7))}
    return answers(case, copy.copy(clf).set_params(**options), Q)


def by_kernel(method: str) -> Callable[..., Answers]:
    """One kernel on an index whose rows are split at random."""

    def answer(case: Case, clf: Any, Q: sp.csr_array) -> Answers:
        compacted = copy.copy(clf).compact()
        held = compacted.model_
        rows = held.rows()
        index = swnn_kernels.HybridIndex.build(rows, frequent=case.frequent, fewest=1)
        query = held.queries(Q).scaled
        settings = compacted.current_model().ranking.settings
        find = settings.n_neighbors, settings.beta
        found = swnn_kernels.search(index, query, *find, method=method)
        labels = swnn_kernels.Labels.prepare(*held.labels[:2])
        ranked = swnn_kernels.rank(index, labels, query, settings, case.k, method=method)
        ids = np.append(ids_left(compacted), -1)
        return {"neighbours": (found[1], ids[found[0]]), "labels": tuple(ranked)}

    return answer


def by_session(case: Case, clf: Any, Q: sp.csr_array) -> Answers:
    session = clf.session()
    rank = session.topk_probabilities_one if case.probabilities else session.predict_one
    rows = [Q[[i]].sorted_indices() for i in range(Q.shape[0])]
    found = [session.kneighbors_one(row.indices, row.data) for row in rows]
    ranked = [rank(row.indices, row.data, k=case.k) for row in rows]
    return {"neighbours": columns(found), "labels": columns(ranked)}


def columns(records: list[Any]) -> tuple[np.ndarray, ...]:
    return tuple(map(np.array, zip(*records, strict=True)))


def from_disk(case: Case, clf: Any, Q: sp.csr_array) -> Answers:
    with tempfile.TemporaryDirectory() as folder:
        clf.save(f"{folder}/model")
        return answers(case, load(f"{folder}/model"), Q)


def fitted_again(case: Case, clf: Any, Q: sp.csr_array) -> Answers:
    """A model that was only ever fitted, on the rows that are left."""
    left = ids_left(clf)
    again = case._replace(X=case.X[left], Y=case.Y[left], fitted=left.size, steps=[])
    found = answers(case, model(again), Q)
    sims, ids = found["neighbours"]
    return found | {"neighbours": (sims, np.append(left, -1)[ids])}


def can_be_fitted_again(case: Case) -> bool:
    if case.params["calibrate"]:
        return False  # the map to probabilities is that of the first rows
    last = case.steps[-1] if case.steps else None
    trained = last is None or (last.what, last.with_) == ("relearn", "all")
    return case.kind != "compressed ranking" and (trained or not case.ranked)


class Here:
    """A Dask client that runs each task at once."""

    def submit(self, task: Any, *args: Any, pure: bool) -> Any:
        return task(*args)


def in_shards(case: Case, clf: Any, Q: sp.csr_array) -> Answers:
    import dask

    from swnn_xp.distributed import ShardedClassifier

    client: Any = Here()
    shards = ShardedClassifier.from_fitted(client, clf, n_shards=1 + case.number % 4)
    with dask.config.set(scheduler="synchronous"):
        sims, ids = dask.compute(
            *shards.kneighbors(Q, clf.current_model().ranking.settings.n_neighbors)
        )
    ranked = tuple(shards.rank_block(Q, case.k))
    if case.params["calibrate"] and not case.ranked:  # shards have votes, but no map of them
        ranked = ranked[:2]
    return {"neighbours": (sims, np.append(ids_left(clf), -1)[ids]), "labels": ranked}


def by_definition(case: Case, clf: Any, Q: sp.csr_array) -> Answers:
    """The method in plain Python on dense rows."""
    left = ids_left(clf)
    X, Y, S = (
        case.X[left].toarray(),
        case.Y[left].toarray(),
        clf.current_model().ranking.settings.n_neighbors,
    )
    stored: Any = oracle.stored(clf) if case.ranked else ({"g": case.weights}, {})
    near, ranked = [], []
    for query in Q.toarray():
        found = oracle.neighbours(X, query, S, case.params["beta"], stored[0]["g"])
        sims, ids = [sim for sim, _ in found], [left[i] for _, i in found]
        near.append((padded(sims, S, 0.0), padded(ids, S, -1)))
        if case.ranked:
            ranked.append(oracle.ranked_topk(stored, X, Y, query, case.k))
        else:
            table, _ = oracle.tally(found, Y, case.params["alpha"])
            best = oracle.best(table, case.k)
            labels, scores = [label for label, _ in best], [score for _, score in best]
            ranked.append((padded(labels, case.k, -1), padded(scores, case.k, 0.0)))
    return {"neighbours": columns(near), "labels": columns(ranked)}


def padded(found: list[Any], width: int, empty: float) -> list[Any]:
    return found + [empty] * (width - len(found))


def is_small(case: Case) -> bool:
    """Small enough for plain Python; rows that stand for others have labels of their own."""
    return (
        case.exact
        and case.X.shape[0] * case.X.shape[1] < 2000
        and case.kind != "compressed ranking"
    )


def usable() -> dict[str, Way]:
    """All ways that can be gone here."""
    ways = {
        "blocks and threads": Way(in_blocks),
        "exhaustive kernel": Way(by_kernel("exhaustive"), fits=lambda case: not case.ranked),
        "pruned kernel": Way(by_kernel("pruned"), fits=lambda case: not case.ranked),
        "sessions": Way(by_session, 200),
        "saved and loaded": Way(from_disk, every=4),
        "fitted again": Way(fitted_again, fits=can_be_fitted_again),
        "plain Python": Way(by_definition, 4, fits=is_small),
    }
    if find_spec("dask"):
        ways["shards"] = Way(in_shards)
    # CuPy on a CPU takes milliseconds for a query, NumPy a quarter of one, torch less.
    backends = {"numpy": 500, "array-api": 500, "torch": N_QUERIES // 2, "cupy": 200}
    for name, most in backends.items():
        if BACKENDS[name].unusable() is None:
            ways[name] = Way(on_backend(name), most)
    if "cupy" in ways:
        ways["cupy by products"] = Way(on_backend("cupy", products=True), 300, every=3)
    return ways
