"""`swnn evaluate`: quality and latency on a test file."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from swnn_xp import metrics
from swnn_xp.cli.common import (
    DATA_HELP,
    add_model,
    add_strict,
    check_outputs,
    check_pages,
    counted,
    input_path,
    new_parser,
    open_model,
    output,
    read_data,
)
from swnn_xp.cli.inputs import (
    add_evaluated_text,
    add_feature_checks,
    add_filter,
    check_features,
    check_text_options,
    read_known,
)
from swnn_xp.diagnostics.latency import latencies
from swnn_xp.io import read_pairs
from swnn_xp.loading import AnyModel, is_ranked, kind_of
from swnn_xp.model.targets import label_matrix
from swnn_xp.progress import in_blocks
from swnn_xp.rows.excluded import excluded_labels

_BLOCK = 1024
_KS = (1, 3, 5)
_COUNTS = {"0": 0, "1": 1, "2-3": 2, "4-10": 4, "11+": 11}


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
    parser = new_parser(
        commands,
        "evaluate",
        "measure quality and latency on a test file",
        "Ranks labels for every row of FILE, compares them with the labels in FILE, and measures "
        "the time of a batch and of single rows.",
        "swnn evaluate model test.txt\nswnn evaluate model test.txt --json | jq '.quality.P'\n"
        "swnn evaluate model --text tagged.jsonl",
    )
    add_model(parser)
    parser.add_argument("file", type=input_path, help=DATA_HELP)
    parser.add_argument(
        "--propensity",
        type=float,
        nargs=2,
        default=(0.55, 1.5),
        metavar=("A", "B"),
        help="constants of the propensity model (0.55 1.5)",
    )
    add_filter(parser, "FILE")
    add_feature_checks(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument(
        "--html",
        type=Path,
        metavar="PAGE",
        help="write a page too (extra `plot`): how often predictions of each probability are right",
    )
    add_evaluated_text(parser)
    add_strict(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    check_outputs([args.html], [args.file])
    check_pages(args.html)
    clf = open_model(args)
    check_text_options(args)
    if args.text:
        X, y = read_known(args, args.file, clf)
    else:
        check_features(clf, args.file, args)
        X, y = read_data(args.file, args.strict)
        if y.shape[1] != clf.n_labels_:
            raise ValueError(
                f"{args.file}: has {y.shape[1]} labels, but the model was fitted with "
                f"{clf.n_labels_}"
            )
    exclude = None
    if args.filter is not None:
        pairs = read_pairs(args.filter)
        exclude = label_matrix(excluded_labels(pairs, X.shape[0], clf.n_labels_))
    measured = measure(clf, X, y, *args.propensity, exclude=exclude)
    print(json.dumps(measured._asdict()) if args.json else format_measured(measured))
    if args.html is not None:
        _write_page(args.html, measured, args.file.resolve())


def _write_page(path: Path, measured: Measured, file: Path) -> None:
    from swnn_xp.pages import evaluation_page

    found = metrics.Reliability(*(np.asarray(part) for part in measured.reliability.values()))
    title = f"{file.parent.name}/{file.name}"  # many files are called test.txt
    with output(path) as out:
        out.write(evaluation_page(format_measured(measured), found, title))


class Measured(NamedTuple):
    """Quality over all rows, and speed."""

    rows: int
    kind: str
    parameters: dict[str, float]
    backend: str
    quality: dict[str, dict[str, float]]
    """For each measure, its values at some k, from 0 to 1."""
    found: dict[str, dict[str, float]]
    """True labels by their number of training rows: how many there are, and the share of them among
    the best k, from 0 to 1."""
    calibration_error: float
    """Expected calibration error of the best labels, from 0 to 1."""
    reliability: dict[str, list[float]]
    """Bins of these labels; see `metrics.Reliability`."""
    rows_per_second: float
    latency: dict[str, float] | None
    """Seconds of single rows."""


def report(clf: AnyModel, X: Any, y: Any) -> str:
    """Measure quality and speed, as text."""
    return format_measured(measure(clf, X, y))


def measure(
    clf: AnyModel, X: Any, y: Any, A: float = 0.55, B: float = 1.5, *, exclude: Any = None
) -> Measured:
    """Measure quality over all rows and latency over some.

    ``exclude`` is a sparse matrix of labels that rows must not get.
    """
    if X.shape[0]:
        clf.predict_topk(X[:1], k=1)  # the first answer loads or compiles kernels
    started = time.perf_counter()
    labels, probabilities = ranked_labels(clf, X, max(_KS), exclude)
    seconds = time.perf_counter() - started
    reliable = metrics.reliability(y, labels, probabilities)
    return Measured(
        rows=X.shape[0],
        kind=kind_of(clf),
        parameters=_parameters(clf),
        backend=clf.backend_,
        quality=_quality(clf, y, labels, A, B),
        found=_found(clf, y, labels),
        calibration_error=reliable.error,
        reliability={name: part.tolist() for name, part in reliable._asdict().items()},
        rows_per_second=X.shape[0] / seconds if seconds else 0.0,
        latency=_latency(clf, X),
    )


def format_measured(measured: Measured) -> str:
    """Format measurements for people."""
    settings = ", ".join(
        f"{name} = {value if isinstance(value, int) else f'{value:.3g}'}"
        for name, value in measured.parameters.items()
    )
    lines = [
        f"{counted(measured.rows, 'row')}; {measured.kind}, {settings}, backend {measured.backend}",
        f"{'%':<9}" + "".join(f"{'@' + str(k):>8}" for k in _KS),
    ]
    for name, values in measured.quality.items():
        lines.append(f"{name:<9}" + "".join(f"{100 * value:>8.2f}" for value in values.values()))
    lines.append(f"{'ECE':<9}{'':>16}{100 * measured.calibration_error:>8.2f}")
    lines.append(f"{'% found of labels with':<33}{'of':>11}")
    for name, values in measured.found.items():
        shares = "".join(f"{100 * values[str(k)]:>8.2f}" for k in _KS)
        lines.append(f"{name + (' row' if name == '1' else ' rows'):<9}{shares}{values['n']:>11,}")
    lines.append(f"batch    {measured.rows_per_second:,.0f} rows/s")
    if measured.latency is not None:
        shown = (f"{what} {measured.latency[what] * 1e3:.3f} ms" for what in ("mean", "p50", "p99"))
        rows = f"{counted(int(measured.latency['rows']), 'single row')}, one thread"
        lines.append(f"latency  {', '.join(shown)} ({rows})")
    return "\n".join(lines)


def _latency(clf: AnyModel, X: Any) -> dict[str, float] | None:
    times = latencies(clf, X, max(_KS))
    if not times.size:
        return None
    p50, p99 = np.quantile(times, [0.5, 0.99]).tolist()
    return {"mean": float(times.mean()), "p50": p50, "p99": p99, "rows": times.size}


def _parameters(clf: AnyModel) -> dict[str, float]:
    """Parameters, as chosen where they were left to the data."""
    S, alpha, beta = clf.current_model().ranking.settings
    found: dict[str, float] = {"S": S, "alpha": alpha, "beta": beta}
    if is_ranked(clf):
        found |= {"K": clf.n_candidates_, "C": clf.C_, "vote weight": clf.vote_weight_}
    return found


def ranked_labels(clf: AnyModel, X: Any, k: int, exclude: Any = None) -> tuple[Any, Any]:
    """Rank labels in blocks, with progress: labels, and the probability of each."""
    labels, probabilities = [np.empty((0, k), np.int64)], [np.empty((0, k))]
    for start, stop in in_blocks(X.shape[0], _BLOCK, "rows"):
        out = None if exclude is None else exclude[start:stop]
        best = clf.topk_probabilities(X[start:stop], k=k, exclude=out)
        labels.append(best.labels)
        probabilities.append(best.probabilities)
    return np.concatenate(labels), np.concatenate(probabilities)


def _counts(clf: AnyModel, y: Any) -> Any:
    """Training rows of each label; those that the model does not know have none."""
    counts = np.zeros(y.shape[1], np.int64)
    counts[: clf.n_labels_] = clf.label_counts_
    return counts


def _found(clf: AnyModel, y: Any, labels: Any) -> dict[str, dict[str, float]]:
    """Rare labels: how many of them are found."""
    edges, counts = [least for least in _COUNTS.values() if least], _counts(clf, y)
    found = {str(k): metrics.found_by_count(y, labels, counts, k, edges) for k in _KS}
    return {
        name: {"n": int(found["1"].n[i])}
        | {k: int(part.found[i]) / int(part.n[i]) for k, part in found.items()}
        for i, name in enumerate(_COUNTS)
        if found["1"].n[i]
    }


def _quality(clf: AnyModel, y: Any, labels: Any, A: float, B: float) -> dict[str, dict[str, float]]:
    propensity = metrics.propensities_of_counts(_counts(clf, y), clf.n_samples_fit_, A, B)
    rows = {
        "P": [metrics.precision_at_k(y, labels, k) for k in _KS],
        "max P": [metrics.max_precision_at_k(y, k) for k in _KS],
        "R": [metrics.recall_at_k(y, labels, k) for k in _KS],
        "RP": [metrics.r_precision_at_k(y, labels, k) for k in _KS],
        "micro-F1": [metrics.f1_micro_at_k(y, labels, k) for k in _KS],
        "nDCG": [metrics.ndcg_at_k(y, labels, k) for k in _KS],
        "PSP": [metrics.psp_at_k(y, labels, k, propensity) for k in _KS],
        "PSnDCG": [metrics.psndcg_at_k(y, labels, k, propensity) for k in _KS],
        "coverage": [metrics.coverage_at_k(y, labels, k) for k in _KS],
    }
    return {
        name: {str(k): float(value) for k, value in zip(_KS, values, strict=True)}
        for name, values in rows.items()
    }
