"""`swnn evaluate`: quality and latency on a test file."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from swnn_xp import metrics
from swnn_xp._progress import in_blocks
from swnn_xp.cli._common import DATA_HELP, add_model, add_strict, open_model, read_data
from swnn_xp.cli._features import add_feature_checks, check_features
from swnn_xp.diagnostics.latency import is_at_full_speed, latencies
from swnn_xp.loading import AnyModel, is_ranked, kind_of

_BLOCK = 1024
_NO_SPEED = "speed    not measured: the fast search is still being compiled; run the command again"
_KS = (1, 3, 5)


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
    parser = commands.add_parser("evaluate", help="measure quality and latency on a test file")
    add_model(parser)
    parser.add_argument("file", type=Path, help=DATA_HELP)
    parser.add_argument(
        "--propensity",
        type=float,
        nargs=2,
        default=(0.55, 1.5),
        metavar=("A", "B"),
        help="constants of the propensity model (0.55 1.5)",
    )
    add_feature_checks(parser)
    add_strict(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    clf = open_model(args)
    check_features(clf, args.file, args)
    X, Y = read_data(args.file, args.strict)
    if Y.shape[1] != clf.n_labels_:
        raise ValueError(
            f"{args.file}: has {Y.shape[1]} labels, but the model was fitted with {clf.n_labels_}"
        )
    print(report(clf, X, Y, *args.propensity))


def report(clf: AnyModel, X: Any, Y: Any, A: float = 0.55, B: float = 1.5) -> str:
    """Measure quality over all rows and latency over some, as text."""
    if X.shape[0]:
        clf.predict_topk(X[:1], k=1)  # the first answer loads or compiles kernels
    is_fast = is_at_full_speed(clf)
    started = time.perf_counter()
    labels = ranked_labels(clf, X, max(_KS))
    seconds = time.perf_counter() - started
    per_second = X.shape[0] / seconds if seconds else 0.0
    lines = [
        f"{X.shape[0]:,} rows; {kind_of(clf)}, {_parameters(clf)}, backend {clf.backend_}",
        *_quality(clf, Y, labels, A, B),
    ]
    if not is_fast:
        return "\n".join([*lines, _NO_SPEED])
    lines.append(f"batch    {per_second:,.0f} rows/s")
    times = latencies(clf, X, max(_KS))
    if times.size:
        mean = times.mean()
        p50, p99 = np.quantile(times, [0.5, 0.99])
        lines.append(
            f"latency  mean {mean * 1e3:.3f} ms, p50 {p50 * 1e3:.3f} ms, p99 {p99 * 1e3:.3f} ms "
            f"({times.size:,} single rows, one thread)"
        )
    return "\n".join(lines)


def _parameters(clf: AnyModel) -> str:
    """Parameters, as chosen where they were left to the data."""
    S, alpha, beta = clf._settings()
    text = f"S = {S}, alpha = {alpha:g}, beta = {beta:g}"
    if is_ranked(clf):
        text += f", K = {clf.n_candidates_}, C = {clf.C_:.3g}, vote weight = {clf.vote_weight_:.3g}"
    return text


def ranked_labels(clf: AnyModel, X: Any, k: int) -> Any:
    """Rank labels in blocks, with progress."""
    parts = [np.empty((0, k), np.int64)]
    for start, stop in in_blocks(X.shape[0], _BLOCK, "rows"):
        parts.append(clf.predict_topk(X[start:stop], k=k).labels)
    return np.concatenate(parts)


def _quality(clf: AnyModel, Y: Any, labels: Any, A: float, B: float) -> list[str]:
    propensity = metrics.propensities_of_counts(clf.label_counts_, clf.n_samples_fit_, A, B)
    rows = {
        "P": [metrics.precision_at_k(Y, labels, k) for k in _KS],
        "max P": [metrics.max_precision_at_k(Y, k) for k in _KS],
        "R": [metrics.recall_at_k(Y, labels, k) for k in _KS],
        "RP": [metrics.r_precision_at_k(Y, labels, k) for k in _KS],
        "micro-F1": [metrics.f1_micro_at_k(Y, labels, k) for k in _KS],
        "nDCG": [metrics.ndcg_at_k(Y, labels, k) for k in _KS],
        "PSP": [metrics.psp_at_k(Y, labels, k, propensity) for k in _KS],
        "PSnDCG": [metrics.psndcg_at_k(Y, labels, k, propensity) for k in _KS],
        "coverage": [metrics.coverage_at_k(Y, labels, k) for k in _KS],
    }
    head = f"{'%':<9}" + "".join(f"{'@' + str(k):>8}" for k in _KS)
    return [head] + [
        f"{name:<9}" + "".join(f"{100 * value:>8.2f}" for value in values)
        for name, values in rows.items()
    ]
