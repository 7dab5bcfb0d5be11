"""The paper's tables (Aoshima et al. 2018, arXiv 1802.03938) beside what is measured here."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Sequence
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
from swnn_xp.summary import summarize


class PaperResult(NamedTuple):
    """Parameters and results of one set; precisions in percent, times in milliseconds per query.

    Times are of one thread of an i7-7700K at 4.2 GHz: the paper's own, and those that the README
    of its program gives.
    """

    n_neighbors: int
    alpha: float
    beta: float
    precision: tuple[float, float, float]
    max_precision: tuple[float, float, float]
    milliseconds: float
    readme_milliseconds: float


PAPER_RESULTS = {
    "AmazonCat-13K": PaperResult(
        25, 1, 1, (91.07, 76.99, 62.59), (100.0, 91.74, 77.24), 24.1, 15.1
    ),
    "Wiki10-31K": PaperResult(20, 1, 1, (84.89, 74.65, 64.88), (100.0, 99.99, 99.93), 1.47, 1.14),
    "Delicious-200K": PaperResult(
        75, 1, 0, (48.05, 42.00, 39.02), (100.0, 98.10, 96.08), 6.02, 4.88
    ),
    "WikiLSHTC-325K": PaperResult(
        25, 1, 1, (58.29, 37.27, 27.53), (100.0, 76.18, 57.40), 20.4, 15.1
    ),
    "Amazon-670K": PaperResult(75, 2, 1, (41.43, 36.79, 33.70), (100.0, 93.40, 87.65), 5.74, 4.19),
    "Amazon-3M": PaperResult(75, 2, 1, (45.69, 42.53, 40.39), (100.0, 95.15, 91.89), 19.7, 15.5),
}

BUILD_LIMIT = "within 60 s"
MODEL_LIMIT = "at most 1.5 GB"
MEMORY_LIMIT = "within 4 GB"


class Line(NamedTuple):
    """One figure: what it is, in the paper, here."""

    what: str
    paper: str
    here: str


class Reproduction(NamedTuple):
    """One data set: the paper's figures beside those measured here."""

    name: str
    is_synthetic: bool
    notes: tuple[str, ...]
    """Sentences for the reader: the origin of the data, differences from the published figures."""
    lines: tuple[Line, ...]

    def table(self) -> list[Sequence[str]]:
        """Head and lines; without the paper's column if the paper does not have the set."""
        if any(line.paper for line in self.lines):
            return [("", "paper", "here"), *self.lines]
        return [("", "here"), *((line.what, line.here) for line in self.lines)]

    @property
    def title(self) -> str:
        """Headline, which marks synthetic data."""
        return f"{self.name} (SYNTHETIC twin)" if self.is_synthetic else self.name


def to_markdown(results: Sequence[Reproduction], machine: str) -> str:
    """Format results as Markdown.

    Examples
    --------
    >>> one = Reproduction("Tiny", False, (), (Line("P@1", "50.00", "49.99"),))
    >>> print(to_markdown([one], "one core"))
    # The paper's figures and those measured here
    <BLANKLINE>
    Measured on: one core
    <BLANKLINE>
    ## Tiny
    <BLANKLINE>
    | | paper | here |
    |---|---|---|
    | P@1 | 50.00 | 49.99 |
    <BLANKLINE>
    """
    parts = ["# The paper's figures and those measured here", "", f"Measured on: {machine}", ""]
    for result in results:
        parts += [f"## {result.title}", ""]
        if result.notes:
            parts += [*(f"- {note}" for note in result.notes), ""]
        head, *lines = ("| " + " | ".join(row) + " |" for row in result.table())
        parts += [head.replace("|  |", "| |"), "|---" * (head.count("|") - 1) + "|", *lines, ""]
    return "\n".join(parts)


_RESET_PEAK = "5"  # what proc(5) says clear_refs takes for it


def reset_peak() -> bool:
    """Restart the count; False where the system can't."""
    try:
        Path("/proc/self/clear_refs").write_text(_RESET_PEAK)
    except OSError:
        return False
    return True


def peak_bytes() -> int | None:
    """Largest resident memory since `reset_peak`, mapped files included; None if not known.

    Examples
    --------
    >>> peak_bytes() is None or peak_bytes() > 0
    True
    """
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return None
    lines = [line.split() for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(lines[0][1]) * 1024 if lines else None


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
