"""`reproduce`: one data set, or its synthetic twin, measured as the paper did."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from swnn_xp import metrics
from swnn_xp.classifier import SWNNClassifier
from swnn_xp.datasets import (
    PAPER_SUMMARIES,
    Dataset,
    Published,
    available,
    find_published,
    load,
    make_twin,
)
from swnn_xp.diagnostics.latency import latencies
from swnn_xp.reproduce.memory import peak_bytes, reset_peak
from swnn_xp.reproduce.published import (
    BUILD_LIMIT,
    MEMORY_LIMIT,
    MODEL_LIMIT,
    PAPER_RESULTS,
    PaperResult,
)
from swnn_xp.reproduce.report import Line, Reproduction
from swnn_xp.summary import summarize

_KS = (1, 3, 5)
_BLOCK = 1024
_NONE = ""  # the paper does not report it
_DEFAULT = (25, 1.0, 1.0)


def reproduce(
    name: str,
    *,
    root: str | os.PathLike[str] | None = None,
    scale: float = 1.0,
    seed: int = 0,
    rows: int | None = None,
    n_jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Reproduction:
    """Measure a data set and compare with the paper's figures.

    A set of the paper that is not found is replaced by its synthetic twin, for speed and memory
    only: its precision would say nothing about the real set, so it is not measured.

    Parameters
    ----------
    name : str
        Name of a set, as for `swnn_xp.datasets.load`.
    root : path, optional
        Folder of data sets; ``$SWNN_DATA`` if not given.
    scale, seed : float, int
        Of a twin.
    rows : int, optional
        How many test rows the precision is measured on, chosen at random; default: all.
    n_jobs : int, default 1
        Threads for the precision. Latency is always of one thread.
    progress : callable, optional
        Called with the number of test rows asked so far and the number of all.

    Returns
    -------
    Reproduction

    Examples
    --------
    >>> result = reproduce("debtags", rows=100)
    >>> [line.here for line in result.lines if line.what == "labels"]
    ['597']
    """
    published = find_published(name)
    key = published.name if published else name
    paper = PAPER_RESULTS.get(key)
    is_twin = paper is not None and key not in available(root)
    started = time.perf_counter()
    if is_twin:
        data, notes = make_twin(key, scale, seed), _twin_notes(key, scale, seed)
    else:
        data = load(name, root=root)
        notes = _notes(data, published)
    read = None if is_twin else time.perf_counter() - started
    model = _measure_model(data, paper, n_jobs)
    lines = [*_sizes(data, published if paper else None), *_summaries(data, key)]
    lines.append(_parameters(paper, model.clf))
    if not is_twin:
        lines += _precisions(model.clf, data, paper, rows, seed, progress)
    lines += _costs(model, paper, read)
    return Reproduction(key, is_twin, notes, tuple(lines))


def _twin_notes(name: str, scale: float, seed: int) -> tuple[str, ...]:
    at = f"scale {scale:g}, seed {seed}"
    note = f"{name} was not found. This is a synthetic twin ({at}): speed and memory only."
    if scale == 1:
        return (note,)
    return note, "At another scale than 1, times and sizes are not those of the real set."


def _notes(data: Dataset, published: Published | None) -> tuple[str, ...]:
    if published is not None and not data.differences:
        return ("Its sizes are as published.",)
    return tuple(f"differs from what is published: {text}" for text in data.differences)


class _Model(NamedTuple):
    clf: SWNNClassifier
    build_seconds: float
    disk_bytes: int
    memory_bytes: int | None
    latencies: Any


def _measure_model(data: Dataset, paper: PaperResult | None, n_jobs: int) -> _Model:
    has_peak = reset_peak()
    clf = SWNNClassifier(*(paper[:3] if paper else _DEFAULT), n_jobs=n_jobs)
    started = time.perf_counter()
    clf.fit(data.X_train, data.y_train)
    build = time.perf_counter() - started
    times = latencies(clf, data.X_test)
    peak = peak_bytes() if has_peak else None
    with tempfile.TemporaryDirectory(prefix="swnn-") as folder:
        clf.save(folder)
        disk = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    return _Model(clf, build, disk, peak, times)


def _sizes(data: Dataset, published: Published | None) -> list[Line]:
    rows = (
        ("features", published and published.n_features, data.X_train.shape[1]),
        ("labels", published and published.n_labels, data.y_train.shape[1]),
        ("training rows", published and published.n_train, data.X_train.shape[0]),
        ("test rows", published and published.n_test, data.X_test.shape[0]),
    )
    return [Line(what, f"{n:,}" if n else _NONE, f"{here:,}") for what, n, here in rows]


def _summaries(data: Dataset, key: str) -> list[Line]:
    papers = PAPER_SUMMARIES.get(key)
    tables = summarize(data.X_train, data.y_train).tables()
    lines = []
    for i, (title, numbers) in enumerate(tables.items()):
        paper = _NONE if papers is None else _five(papers[i][:5], f"{papers[i].mean:g}")
        lines.append(Line(title, paper, _five(numbers[:5], f"{numbers.mean:.1f}")))
    return lines


def _five(numbers: Any, mean: str) -> str:
    return " ".join(f"{number:,}" for number in numbers) + f"; {mean}"


def _parameters(paper: PaperResult | None, clf: SWNNClassifier) -> Line:
    here = f"{clf.n_neighbors}, {clf.alpha:g}, {clf.beta:g}"
    return Line("S, alpha, beta", here if paper else _NONE, here)


def _precisions(
    clf: SWNNClassifier,
    data: Dataset,
    paper: PaperResult | None,
    rows: int | None,
    seed: int,
    progress: Callable[[int, int], None] | None,
) -> list[Line]:
    X, y = data.X_test, data.y_test
    note = ""
    if rows is not None and rows < X.shape[0]:
        chosen = np.sort(np.random.default_rng(seed).permutation(X.shape[0])[:rows])
        note = f" ({rows:,} of {X.shape[0]:,} test rows)"
        X, y = X[chosen], y[chosen]
    labels = _ranked(clf, X, progress)
    lines = []
    for i, k in enumerate(_KS):
        here = f"{100 * metrics.precision_at_k(y, labels, k):.2f}{note}"
        lines.append(Line(f"P@{k} in %", f"{paper.precision[i]:.2f}" if paper else _NONE, here))
    for i, k in enumerate(_KS):
        here = f"{100 * metrics.max_precision_at_k(y, k):.2f}{note}"
        best = f"{paper.max_precision[i]:.2f}" if paper else _NONE
        lines.append(Line(f"attainable P@{k} in %", best, here))
    return lines


def _ranked(clf: SWNNClassifier, X: Any, progress: Callable[[int, int], None] | None) -> Any:
    parts = [np.empty((0, max(_KS)), np.int64)]
    for start in range(0, X.shape[0], _BLOCK):
        block = X[start : start + _BLOCK]
        parts.append(clf.predict_topk(block, k=max(_KS)).labels)
        if progress is not None:
            progress(start + block.shape[0], X.shape[0])
    return np.concatenate(parts)


def _costs(model: _Model, paper: PaperResult | None, read_seconds: float | None) -> list[Line]:
    read = "" if read_seconds is None else f" + {read_seconds:.1f} s to read train and test"
    mean, p50, p99 = (0.0, 0.0, 0.0)
    if model.latencies.size:
        mean, (p50, p99) = model.latencies.mean(), np.quantile(model.latencies, [0.5, 0.99])
    times = f"{mean * 1e3:.2f} ms (p50 {p50 * 1e3:.2f}, p99 {p99 * 1e3:.2f})"
    published = _NONE
    if paper:
        published = (
            f"{paper.milliseconds:g} ms (its program's README: {paper.readme_milliseconds:g})"
        )
    peak = "not measured here"
    if model.memory_bytes is not None:
        peak = f"{model.memory_bytes / 1e9:.2f} GB with the data"
    return [
        Line("build", BUILD_LIMIT if paper else _NONE, f"{model.build_seconds:.1f} s{read}"),
        Line("model on disk", MODEL_LIMIT if paper else _NONE, f"{model.disk_bytes / 1e9:.3f} GB"),
        Line("peak memory, build and query", MEMORY_LIMIT if paper else _NONE, peak),
        Line("one query, one thread", published, times),
    ]
