"""Random models, what happens to them, and queries: all from a seed and the number of a round."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from swnn_xp import SWNNClassifier, SWNNRanker

KINDS = ("published", "weights", "ranking", "compressed", "compressed ranking")
N_QUERIES = 10_000
"""At most; where many neighbours vote, an answer takes longer and a fifth must do."""


class Step(NamedTuple):
    """One change of a model; ``what`` says which, ``with_`` are rows, ids, labels or a part."""

    what: str
    with_: Any = None


class Case(NamedTuple):
    number: int
    kind: str
    X: sp.csr_array
    Y: sp.csr_array
    Q: sp.csr_array
    params: dict[str, Any]
    weights: np.ndarray | None
    fitted: int
    """Rows at first; the others come later."""
    steps: list[Step]
    k: int
    frequent: float
    probabilities: bool

    @property
    def exact(self) -> bool:
        return {self.params["alpha"], self.params["beta"]} <= {0, 1, 2}

    @property
    def ranked(self) -> bool:
        return self.kind.endswith("ranking")


def values(rng: np.random.Generator, count: int) -> np.ndarray:
    """Values of one kind: few that tie, any, or of extreme size."""
    kind = rng.integers(5)
    if kind == 0:
        return np.ones(count)
    if kind == 1:
        return rng.choice([1.0, 2.0, 0.5], count)
    if kind == 2:
        return rng.choice([1.0, -1.0, 3.0], count)
    if kind == 3:
        return rng.choice([1e-300, 1.0, 1e300], count)
    return rng.lognormal(size=count)


def matrix(rng: np.random.Generator, n: int, d: int, density: float) -> sp.csr_array:
    """Random rows; some features are in most of them, some in hardly any."""
    often = np.minimum(1, density * 2 * rng.random(d) ** 2 * 1.5)
    support = sp.csr_array(rng.random((n, d)) < often)
    return sp.csr_array((values(rng, support.nnz), support.indices, support.indptr), shape=(n, d))


def exponents(rng: np.random.Generator) -> list[float]:
    exact = rng.random() < 0.9
    return [float(p) for p in rng.choice([0, 1, 2] if exact else [0.5, 1.7, 3.0, 0.0], 2)]


def parameters(rng: np.random.Generator, kind: str, n: int, probabilities: bool) -> dict[str, Any]:
    alpha, beta = exponents(rng)
    found: dict[str, Any] = {"n_neighbors": int(rng.choice([1, 2, 5, 25, n, n + 3]))}
    found |= {"alpha": alpha, "beta": beta}
    if kind.endswith("ranking"):
        found["n_candidates"] = int(rng.choice([1, 3, 10, 100]))
        found["rare_labels"] = float(rng.choice([0.0, 0.25]))
        found["learn_weights"] = bool(rng.random() < 0.7)
        found["centroids"] = bool(rng.random() < 0.5)
    return found | {"calibrate": bool(probabilities and rng.random() < 0.5)}


def history(rng: np.random.Generator, kind: str, n: int, fitted: int) -> list[Step]:
    """Steps in random order that append all rows that are left; ids are numbers of rows."""
    steps, alive, known = [], np.arange(fitted), fitted
    if kind.startswith("compressed"):  # which rows stay only the model knows: none is removed
        steps.append(Step("compress", float(rng.choice([0.2, 0.5, 0.8]))))
        alive = np.zeros(0, np.int64)
    while known < n or rng.random() < 0.4:
        what = rng.choice(["append", "append", "remove", "compact", "relearn"])
        if what == "append" and known < n:
            last = int(rng.integers(known + 1, n + 1))
            steps.append(Step("append", slice(known, last)))
            alive, known = np.append(alive, np.arange(known, last)), last
        elif what == "remove" and alive.size > 1:
            gone = rng.permutation(alive)[: rng.integers(1, alive.size // 2 + 1)]
            steps.append(Step("remove", gone))
            alive = np.setdiff1d(alive, gone)
        elif what == "compact":
            steps.append(Step("compact"))
        elif what == "relearn" and kind == "ranking":
            steps.append(Step("relearn", "all" if rng.random() < 0.4 else None))
    return steps


def queries(rng: np.random.Generator, X: sp.csr_array, count: int) -> sp.csr_array:
    """Random rows, and training rows: a fifth."""
    own = X[rng.integers(0, X.shape[0], count // 5)]
    Q = sp.vstack([matrix(rng, count - own.shape[0], X.shape[1], rng.uniform(0.02, 0.6)), own])
    return sp.csr_array(Q)[rng.permutation(count)]


def make(seed: int, number: int) -> Case:
    rng = np.random.default_rng([seed, number])
    kind = str(rng.choice(KINDS, p=[0.4, 0.15, 0.2, 0.15, 0.1]))
    n, d = int(2 ** rng.uniform(0, 10.5)), int(2 ** rng.uniform(0, 8))
    X = matrix(rng, n, d, rng.uniform(0.02, 0.6))
    if rng.random() < 0.3:  # copies: many rows share every place
        X = X[rng.integers(0, max(1, n // 5), n)]
    Y = sp.csr_array(rng.random((n, int(rng.integers(1, 40)))) < rng.uniform(0.02, 0.3))
    probabilities = bool(rng.random() < 0.5)
    params = parameters(rng, kind, n, probabilities)
    few = min(params["n_neighbors"], n) <= 25
    fitted = int(rng.integers(1, n)) if rng.random() < 0.4 and n > 1 else n
    return Case(
        number,
        kind,
        X,
        Y,
        queries(rng, X, N_QUERIES if few else N_QUERIES // 5),
        params,
        rng.choice([0.001, 0.5, 1.0, 1.0, 3.7], d) if kind == "weights" else None,
        fitted,
        history(rng, kind, n, fitted),
        int(rng.integers(1, 12)),
        float(rng.choice([0, 0.1, 0.5])),
        probabilities,
    )


def model(case: Case, backend: str = "numba", **params: Any) -> Any:
    """The estimator after all steps, each of them on the backend."""
    params = case.params | {"backend": backend} | params
    clf: Any = SWNNRanker(**params) if case.ranked else SWNNClassifier(**params)
    first = case.X[: case.fitted], case.Y[: case.fitted]
    clf.fit(*first, **({} if case.weights is None else {"feature_weights": case.weights}))
    for step in case.steps:
        change(clf, case, step)
    return clf


def change(clf: Any, case: Case, step: Step) -> None:
    if step.what == "append":
        clf.partial_fit(case.X[step.with_], case.Y[step.with_])
    elif step.what == "remove":
        clf.remove(step.with_)
    elif step.what == "compact":
        clf.compact()
    elif step.what == "compress":
        clf.compress(step.with_)
    else:
        clf.relearn(step.with_)


def ids_left(clf: Any) -> np.ndarray:
    """Ids of the rows that are still there, ascending."""
    model = clf.model_
    ids = np.arange(model.n_positions) if model.row_ids is None else model.row_ids
    return ids if model.removed is None else ids[~model.removed]
