"""`swnn reproduce`: the paper's figures beside those measured here."""

from __future__ import annotations

import argparse
from pathlib import Path

from swnn_xp.cli.common import add_jobs, check_pages, new_parser, output
from swnn_xp.cli.datasets import add_data_root, add_twin_options
from swnn_xp.cli.machine import host_machine
from swnn_xp.datasets import available, describe
from swnn_xp.progress import note, progress_bar


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
    parser = new_parser(
        commands,
        "reproduce",
        "measure the paper's data sets and compare with its tables",
        "For each set that is found: summaries, precision, build time, model size and "
        "latency beside the paper's. A set of the paper that is not found is replaced by its "
        "synthetic twin, for speed and memory only. A twin of full size takes minutes and "
        "gigabytes; --scale 0.1 gives a quick look.",
        "swnn reproduce Delicious --data ~/data -o delicious.md",
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="data sets (default: the paper's, and any found)"
    )
    add_data_root(parser)
    add_twin_options(parser)
    parser.add_argument(
        "--rows", type=int, metavar="N", help="test rows for the precision (default: all)"
    )
    add_jobs(parser, "threads for the precision")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="Markdown file (default: stdout)"
    )
    parser.add_argument("--html", type=Path, metavar="PAGE", help="write a page too (extra `plot`)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    from swnn_xp.reproduce import Reproduction, reproduce, to_markdown

    check_pages(args.html)
    results: list[Reproduction] = []
    for name in args.names or _default_names(args.data):
        note(f"{name} ...")
        with progress_bar("test rows") as progress:
            result = reproduce(
                name,
                root=args.data,
                scale=args.scale,
                seed=args.seed,
                rows=args.rows,
                n_jobs=args.jobs,
                progress=progress,
            )
        results.append(result)
    with output(args.output) as file:
        file.write(to_markdown(results, host_machine()))
    if args.html is not None:
        from swnn_xp.pages import reproduction_page

        with output(args.html) as file:
            file.write(reproduction_page(results, host_machine()))


def _default_names(root: Path | None) -> list[str]:
    paper = [row.published.name for row in describe(root) if row.published.in_paper]
    return paper + [name for name in available(root) if name not in paper]
