"""`swnn tune`: choose S, alpha and beta on held-out rows of a training file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from swnn_xp._progress import progress_bar
from swnn_xp.cli._common import DATA_HELP, add_machine, add_strict, output, read_data

if TYPE_CHECKING:
    from swnn_xp.tuning import TuningResult

_SHOWN = 30


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
    parser = commands.add_parser(
        "tune",
        help="choose S, alpha and beta on held-out rows",
        description="Tries settings on rows held out of TRAIN: by default the paper's, whose best "
        "(alpha, beta) at S = mean labels per row is chosen first, then the best S for it. "
        "Ctrl-C ends the search and keeps what is done.",
    )
    parser.add_argument("train", type=Path, help=DATA_HELP)
    parser.add_argument("--wide", action="store_true", help="140 settings instead of the paper's")
    parser.add_argument("--metric", default="P@1", help="P@k, R@k, nDCG@k, PSP@k or PSnDCG@k (P@1)")
    parser.add_argument(
        "--holdout",
        type=float,
        metavar="N",
        help="rows to hold out, or their share if below 1 (default: a fifth, at most 10,000)",
    )
    parser.add_argument(
        "--folds", type=int, default=1, metavar="K", help="cross-validate in K folds instead"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random split (0)")
    parser.add_argument(
        "--propensity", type=float, nargs=2, default=(0.55, 1.5), metavar=("A", "B"),
        help="constants of the propensity model (0.55 1.5)",
    )  # fmt: skip
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="heat map, as .html or (with matplotlib) .png"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="best setting, for `swnn fit --params`"
    )
    add_machine(parser)
    add_strict(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    from swnn_xp.tuning import Split, tune

    if args.plot is not None and args.plot.suffix not in (".html", ".png"):
        raise ValueError(f"--plot {args.plot}: the name must end in .html or .png")
    X, Y = read_data(args.train, args.strict)
    with progress_bar("held-out rows") as progress:
        result = tune(
            X,
            Y,
            grid="wide" if args.wide else "paper",
            metric=args.metric,
            split=Split(args.holdout, args.folds, args.seed),
            propensity=tuple(args.propensity),
            progress=progress,
            backend=args.backend,
            n_jobs=args.jobs,
        )
    print(format_result(result))
    if args.output is not None:
        with output(args.output) as file:
            file.write(result.to_toml())
    if args.plot is not None:
        _plot(result, args.plot, args.train)


def format_result(result: TuningResult) -> str:
    """Format a result for people, best settings first; the choice is marked."""
    ordered = sorted(result.trials, key=lambda trial: -trial.score)
    shown = ordered[:_SHOWN]
    if result.best not in shown:
        shown[-1] = result.best
    has_folds = any(trial.spread for trial in result.trials)
    head = f"   {'S':>4}{'alpha':>7}{'beta':>6}{result.metric + ' %':>11}"
    lines = [head + ("  std over folds" if has_folds else "")]
    for trial in shown:
        S, alpha, beta = trial.setting
        mark = "->" if trial is result.best else "  "
        score, spread = 100 * trial.score, 100 * trial.spread
        line = f"{mark} {S:>4}{alpha:>7g}{beta:>6g}{score:>11.2f}"
        lines.append(line + (f"{spread:>16.2f}" if has_folds else ""))
    if len(shown) < len(ordered):
        lines.append(f"   ... and {len(ordered) - len(shown)} more")
    lines.append(
        f"{result.n_done:,} held-out rows; neighbours {result.search_seconds:.1f} s, "
        f"votes {result.vote_seconds:.1f} s"
    )
    if not result.is_complete:
        lines.append(f"stopped: {result.n_asked - result.n_done:,} rows were not asked")
    return "\n".join(lines)


def _plot(result: TuningResult, path: Path, train: Path) -> None:
    if path.suffix == ".png":
        from swnn_xp.pages.heatmap_png import write_heatmap_png

        write_heatmap_png(result, path)
        return
    from swnn_xp.pages import tuning_page

    with output(path) as file:
        file.write(tuning_page(result, f"Parameters for {train.name}"))
