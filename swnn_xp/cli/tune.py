"""`swnn tune`: choose parameters on held-out rows of a training file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from swnn_xp.cli.common import (
    DATA_HELP,
    add_machine,
    add_strict,
    check_outputs,
    check_pages,
    input_path,
    new_parser,
    output,
    read_data,
)
from swnn_xp.cli.inputs import add_text, check_text_options, read_tagged
from swnn_xp.io import read_names
from swnn_xp.io.files import open_atomic
from swnn_xp.progress import StageProgress, progress_bar
from swnn_xp.tuning.records import RULES, RankingResult, TuningResult

_SHOWN = 30
_COLUMNS = {
    "n_neighbors": ("S", 4),
    "alpha": ("alpha", 7),
    "beta": ("beta", 6),
    "C": ("C", 7),
    "vote_weight": ("vote weight", 13),
}


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
    parser = new_parser(
        commands,
        "tune",
        "choose parameters on held-out rows",
        "Tries settings on rows held out of TRAIN and chooses the best measured: by default the "
        "paper's S, alpha and beta; with --learn ranking, S, C and the vote weight of a ranker. "
        "--two-step chooses as the paper did. Ctrl-C ends the search and keeps what is done.",
        "swnn tune train.txt --metric P@3 --group sources.txt -o best.toml\n"
        "swnn fit train.txt --params best.toml -o model\n"
        "swnn tune --text tagged.jsonl -o best.toml",
    )
    parser.add_argument("train", type=input_path, help=DATA_HELP)
    parser.add_argument(
        "--learn", choices=("ranking",), help="tune a ranker (default: the published method)"
    )
    parser.add_argument("--wide", action="store_true", help="140 settings instead of the paper's")
    parser.add_argument(
        "--two-step",
        action="store_true",
        help="choose as the paper did: (alpha, beta) at S = mean labels per row, then S",
    )
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
    parser.add_argument(
        "--holdout-last",
        action="store_true",
        help="hold out the last rows of the file instead of random ones: for rows in order of time",
    )
    parser.add_argument(
        "--group",
        type=Path,
        metavar="FILE",
        help="one group per line, for each row: rows of a group are held out together",
    )
    parser.add_argument(
        "--leave-one-out",
        action="store_true",
        help="ask rows of TRAIN itself, each without its own vote; --holdout says how many",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the random split (0)")
    parser.add_argument(
        "--propensity", type=float, nargs=2, default=(0.55, 1.5), metavar=("A", "B"),
        help="constants of the propensity model (0.55 1.5)",
    )  # fmt: skip
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="heat map, as .html or .png (extra `plot`)"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="best setting, for `swnn fit --params`"
    )
    add_text(parser)
    add_machine(parser)
    add_strict(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    if args.plot is not None and args.plot.suffix not in (".html", ".png"):
        raise ValueError(f"--plot {args.plot}: the name must end in .html or .png")
    if args.learn is not None:
        for option in ("wide", "plot", "two_step", "leave_one_out"):
            if getattr(args, option):
                name = option.replace("_", "-")
                raise ValueError(f"--{name} is not for --learn {args.learn}")
    if args.two_step and args.wide:
        raise ValueError("--two-step is for the paper's settings, not for --wide")
    check_outputs([args.output, args.plot], [args.train, args.group])
    check_pages(args.plot)
    check_text_options(args)
    if args.text:
        X, y = read_tagged(args, args.train)[:2]
    else:
        X, y = read_data(args.train, args.strict)
    result = (_tune_published if args.learn is None else _tune_ranking)(args, X, y)
    print(format_result(result))
    if args.output is not None:
        with output(args.output) as file:
            file.write(result.to_toml())
    if args.plot is not None:
        _plot(result, args.plot, args.train)


def _tune_published(args: argparse.Namespace, X: Any, y: Any) -> TuningResult:
    from swnn_xp.tuning import tune

    grid: Literal["wide", "paper", "two-step"] = "wide" if args.wide else "paper"
    if args.two_step:
        grid = "two-step"
    with progress_bar("held-out rows") as progress:
        return tune(X, y, grid=grid, progress=progress, **_options(args))


def _tune_ranking(args: argparse.Namespace, X: Any, y: Any) -> RankingResult:
    from swnn_xp.tuning import tune_ranking

    with StageProgress() as progress:
        return tune_ranking(X, y, progress=progress.show, **_options(args))


def _options(args: argparse.Namespace) -> dict[str, Any]:
    from swnn_xp.tuning import Split

    return {
        "metric": args.metric,
        "split": Split(
            args.holdout,
            args.folds,
            args.seed,
            groups=None if args.group is None else read_names(args.group),
            last=args.holdout_last,
            leave_one_out=args.leave_one_out,
        ),
        "propensity": tuple(args.propensity),
        "backend": args.backend,
        "n_jobs": args.jobs,
    }


def format_result(result: TuningResult | RankingResult) -> str:
    """Format a result for people, best settings first; the choice is marked."""
    ordered: list[Any] = sorted(result.trials, key=lambda trial: -trial.score)
    shown = ordered[:_SHOWN]
    if result.best not in shown:
        shown[-1] = result.best
    has_folds = any(trial.spread for trial in result.trials)
    columns = [_COLUMNS[name] for name in result.best.setting._fields]
    head = "   " + "".join(f"{name:>{width}}" for name, width in columns)
    lines = [head + f"{result.metric + ' %':>11}" + ("  std over folds" if has_folds else "")]
    for trial in shown:
        cells = (
            f"{value:>{width}}" if isinstance(value, str) else f"{value:>{width}g}"
            for value, (_, width) in zip(trial.setting, columns, strict=True)
        )
        mark = "->" if trial is result.best else "  "
        line = f"{mark} {''.join(cells)}{100 * trial.score:>11.2f}"
        lines.append(line + (f"{100 * trial.spread:>16.2f}" if has_folds else ""))
    if len(shown) < len(ordered):
        lines.append(f"   ... and {len(ordered) - len(shown)} more")
    return "\n".join([*lines, *_times(result)])


def _times(result: TuningResult | RankingResult) -> Iterator[str]:
    """Where the time went, and what is missing after Ctrl-C."""
    later = (
        f"votes {result.vote_seconds:.1f} s"
        if isinstance(result, TuningResult)
        else f"training {result.train_seconds:.1f} s"
    )
    yield f"chosen: {RULES[result.rule]}"
    asked = f"{result.n_done:,} rows, {result.held_out}"
    yield f"{asked}; neighbours {result.search_seconds:.1f} s, {later}"
    if not result.is_complete:
        rows = f"{result.n_asked - result.n_done:,} rows were not asked"
        untried = 0 if isinstance(result, TuningResult) else result.n_settings - len(result.trials)
        yield f"stopped: {rows}" + (f", {untried} settings were not tried" if untried else "")


def _plot(result: Any, path: Path, train: Path) -> None:
    from swnn_xp import pages

    if path.suffix == ".png":
        with open_atomic(path) as file:
            file.write(pages.heat_map_png(result))
        return

    with output(path) as text:
        text.write(pages.tuning_page(result, f"Parameters for {train.name}"))
