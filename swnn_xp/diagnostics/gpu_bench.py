"""How fast a device answers, stage by stage, beside all cores of its host.

Every batch is also answered by the numba backend, on all cores, and the answers are compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace

from swnn_xp.backends import get_backend
from swnn_xp.classifier import SWNNClassifier
from swnn_xp.datasets import Dataset
from swnn_xp.diagnostics.gpu_check import (
    K,
    drawn_matrix,
    fixed_ranker,
    peak_bandwidth,
    posting_bytes,
)
from swnn_xp.loading import AnyModel
from swnn_xp.rows.canonical import canonical_rows, quantise_rows, to_csr

SIZES = 256, 4096, 65_536
QUICK_SIZES = 16, 64
S, RANKED_S = 25, 75
MODEL_LENGTH = 64
STAGES = {
    "prepare": "the host brings rows into fixed point",
    "upload": "to the device",
    "search": f"the {S} nearest rows of each",
    "votes": f"their labels, ranked: the best {K}",
    "download": "labels and scores to the host",
    "predict": f"`predict_topk` of rows on the host, S = {S}",
    "predict on device": "the same, of rows on the device",
    "rank": f"label models, made up, of {MODEL_LENGTH} weights each, rank candidates",
    "ranked predict": f"`predict_topk` of a ranker, of rows on the host, S = {RANKED_S}",
}
_SECONDS, _MOST_RUNS = 1.0, 10
_COPIED, _QUICK_COPIED = 1 << 28, 1 << 22


class Comparison(NamedTuple):
    """One batch: seconds of the device's stages, and of all cores of the host."""

    rows: int
    seconds: dict[str, float]
    """By the names of `STAGES`, those that the backend has."""
    host_seconds: dict[str, float]
    """Of the numba backend on all cores: ``predict`` and ``ranked predict``."""
    n_different: int
    """Rows with another answer than the numba backend's."""
    posting_bytes: int
    """What the search must read at least: the postings of the queries' features, 4 bytes each."""


@dataclass(frozen=True)
class Measurements:
    """What a device did on one data set."""

    data: str
    """The data set, with its sizes."""
    batches: tuple[Comparison, ...]
    peak: float | None
    """Bytes per second that the device states for its memory."""
    copy: float
    """Bytes per second, read and written, of a copy on the device."""

    @property
    def n_different(self) -> int:
        """Rows with another answer than the numba backend's."""
        return sum(batch.n_different for batch in self.batches)


def measure(
    backend: str,
    data: Dataset,
    *,
    device: Any = None,
    quick: bool = False,
    on_progress: Callable[[str], None] = lambda _: None,
) -> Measurements:
    """Measure a backend on a data set.

    Examples
    --------
    >>> from swnn_xp import datasets
    >>> found = measure("numpy", datasets.load("debtags"), quick=True)
    >>> found.n_different, [batch.rows for batch in found.batches]
    (0, [16, 64])
    """
    on_progress(f"{data.name}: indexing {data.X_train.shape[0]:,} rows ...")
    ours = Timings(backend, data, device)
    host = Timings("numba", data, None)
    batches = []
    for size in QUICK_SIZES if quick else SIZES:
        on_progress(f"{data.name}: batches of {size:,} rows ...")
        batches.append(_compare(ours, host, bench_rows(data, size)))
    n_train, n_features = data.X_train.shape
    return Measurements(
        f"{data.name}: {n_train:,} rows, {n_features:,} features, {data.y_train.shape[1]:,} labels",
        tuple(batches),
        peak_bandwidth(backend, device),
        ours.copied_per_second(_QUICK_COPIED if quick else _COPIED),
    )


def bench_rows(data: Dataset, size: int) -> Any:
    """The test rows of a data set, again and again, up to a size."""
    rows = canonical_rows(data.X_test, "X_test")
    shape = rows.n_rows, rows.n_features
    return to_csr(rows.indptr, rows.indices, rows.values, shape)[np.arange(size) % rows.n_rows]


class Timings:
    """A backend with a model, and what there is to time.

    The ranker has made-up label models, for nothing is trained here: they cost what trained ones
    of their length cost.
    """

    def __init__(self, backend: str, data: Dataset, device: Any) -> None:
        clf = SWNNClassifier(S, backend=backend, device=device, n_jobs=-1)
        self.backend, self.device = backend, device
        self.clf = clf.fit(data.X_train, data.y_train)
        self.training_rows = data.X_train

    @cached_property
    def ranker(self) -> AnyModel:
        """A ranker over the same rows, on all cores where the backend has threads."""
        model = self.clf.current_model()
        weights = drawn_matrix(4, model.labels.n_labels, model.n_features, MODEL_LENGTH)
        return fixed_ranker(self.clf, weights).set_params(n_jobs=-1)

    def calls(self, X: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
        """The stages that the backend has, each with a call to time; in the order of `STAGES`.

        Examples
        --------
        >>> from swnn_xp import datasets
        >>> debtags = datasets.load("debtags")
        >>> [stage for stage, _ in Timings("numpy", debtags, None).calls(debtags.X_test[:1])]
        ['prepare', 'search', 'votes', 'predict', 'rank', 'ranked predict']
        """
        model, options = self.clf.current_model(), self.clf.options
        placement, ranking, (index,) = model.placement, model.ranking, model.segments
        on_host = quantise_rows(canonical_rows(X, "X"))
        rows, labels = placement.rows(on_host), model.placed_labels
        yield "prepare", lambda: quantise_rows(canonical_rows(X, "X"))
        moves = rows is not on_host
        if moves:
            yield "upload", lambda: placement.rows(on_host)
        settings = ranking.settings._replace(n_neighbors=model.n_voters(S))
        yield "search", lambda: index.search(rows, settings.n_neighbors, 1.0, None, options)
        found = index.search(rows, settings.n_neighbors, 1.0, None, options)
        yield "votes", lambda: index.rank_found(found, labels, 1.0, K, options)
        if moves:
            best = index.rank_found(found, labels, 1.0, K, options)
            yield "download", lambda: placement.as_input_kind(X, *best)
        yield "predict", lambda: self.clf.predict_topk(X, k=K)
        if moves and self.backend in get_backend(self.backend).accepts:  # matrices of its own
            brought = placement.as_sparse_like(rows.quantised, *self._parts(X))
            yield "predict on device", lambda: self.clf.predict_topk(brought, k=K)
        ranked = self.ranker.current_model()
        queries = ranked.queries(X)
        near = ranked.ranking.find(ranked, queries, options)
        yield "rank", lambda: ranked.ranking.rank_found(ranked, queries, near, K, options)
        yield "ranked predict", lambda: self.ranker.predict_topk(X, k=K)

    def _parts(self, X: Any) -> tuple[Any, Any, Any, int]:
        rows, to_device = canonical_rows(X, "X"), self.clf.current_model().placement.to_device
        parts = rows.indptr, rows.indices, rows.values
        return (*map(to_device, parts), rows.n_features)

    def seconds(self, call: Callable[[], Any]) -> float:
        """Seconds of a call until its work is done: the best of several, after one to warm up."""
        call()
        synchronise(self.backend, self.device)
        best, began = np.inf, time.perf_counter()
        for _ in range(_MOST_RUNS):
            started = time.perf_counter()
            call()
            synchronise(self.backend, self.device)
            best = min(best, time.perf_counter() - started)
            if time.perf_counter() - began > _SECONDS:
                break
        return best

    def copied_per_second(self, size: int) -> float:
        """Bytes that the device reads and writes per second when it copies an array."""
        array = self.clf.current_model().placement.to_device(np.zeros(size, np.uint8))
        xp = array_namespace(array)
        return 2 * size / self.seconds(lambda: xp.asarray(array, copy=True))


def _compare(ours: Timings, host: Timings, X: Any) -> Comparison:
    seconds = {stage: ours.seconds(call) for stage, call in ours.calls(X)}
    whole = "predict", "ranked predict"
    on_host = {stage: host.seconds(call) for stage, call in host.calls(X) if stage in whole}
    pairs = (ours.clf, host.clf), (ours.ranker, host.ranker)
    different = np.zeros(X.shape[0], bool)
    for one, other in pairs:
        for a, b in zip(one.predict_topk(X, k=K), other.predict_topk(X, k=K), strict=True):
            different |= (a != b).any(axis=1)
    n_bytes = posting_bytes(ours.training_rows, X)
    return Comparison(X.shape[0], seconds, on_host, int(different.sum()), n_bytes)


def synchronise(backend: str, device: Any) -> None:
    """Wait until a device has done what it was told."""
    if backend == "cupy":
        import cupy

        cupy.cuda.Device(device).synchronize()
    elif backend == "torch" and str(device or "cpu") != "cpu":
        import torch

        if torch.cuda.is_available():
            torch.cuda.synchronize(device)


def stages_of(batches: Iterable[Comparison]) -> list[str]:
    """The stages that were measured, in order."""
    found = {stage for batch in batches for stage in batch.seconds}
    return [stage for stage in STAGES if stage in found]
