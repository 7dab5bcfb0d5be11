"""What several commands share: options, reading data, opening models, writing output."""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import os
import sys
import textwrap
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from swnn_xp import load
from swnn_xp.backends import BACKENDS
from swnn_xp.io import read_names, read_xmc
from swnn_xp.io.files import STDIN, is_special, open_atomic
from swnn_xp.loading import AnyModel
from swnn_xp.progress import note

DATA_HELP = (
    "data file in the Extreme Classification Repository's text format (plain, .gz or .xz), "
    "- for stdin"
)


def input_path(text: str) -> Path:
    """An input file on the command line; ``-`` is standard input."""
    return Path(STDIN if text == "-" else text)


def new_parser(
    commands: argparse._SubParsersAction, name: str, summary: str, description: str, example: str
) -> argparse.ArgumentParser:
    """Add a command: a line for the list, a paragraph and an example for its own help."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=textwrap.fill(description, 80),
        epilog="example:\n" + textwrap.indent(example, "  "),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser


def add_strict(parser: argparse.ArgumentParser) -> None:
    """Add --strict."""
    parser.add_argument(
        "--strict", action="store_true", help="refuse files that are not exactly in the format"
    )


def add_name_maps(parser: argparse.ArgumentParser, data: str, *more: str) -> None:
    """Add the options for `find_names`; ``data`` is the name of the data file in the help."""
    for what in ("feature", "label", *more):
        parser.add_argument(
            f"--{what}-map",
            type=Path,
            metavar="FILE",
            help=f"one {what} name per line (default: {what}_map.txt beside {data}, if any)",
        )


def add_machine(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose what computes; the answer does not depend on them."""
    names = ["auto", *BACKENDS]
    parser.add_argument(
        "--backend", choices=names, default="auto", help="what runs search and vote (default: auto)"
    )
    add_jobs(parser, "threads")


def add_jobs(parser: argparse.ArgumentParser, what: str) -> None:
    """Add --jobs, and --threads as another name for it."""
    help_ = f"{what}; -1 for one per core (1)"
    parser.add_argument("--jobs", type=_jobs, default=1, metavar="N", help=help_)
    parser.add_argument(
        "--threads", type=_jobs, default=1, dest="jobs", metavar="N", help=argparse.SUPPRESS
    )


def add_cluster(parser: argparse.ArgumentParser, what: str) -> None:
    """Add --cluster, for `check_cluster`."""
    parser.add_argument(
        "--cluster",
        metavar="WHERE",
        help=f"{what} on Dask: 'local' (one process per core), 'local:N', 'gpus' (one per GPU), "
        "'gpus:N', or an address",
    )


def check_cluster(args: argparse.Namespace) -> None:
    """Refuse a process for each GPU that would compute on the CPU."""
    if (args.cluster or "").partition(":")[0] == "gpus" and args.backend != "cupy":
        raise ValueError(f"--cluster {args.cluster} goes with --backend cupy")


def _jobs(text: str) -> int:
    try:
        count = int(text)
    except ValueError:
        count = 0
    if count < 1 and count != -1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1, or -1, not {text!r}")
    return count


def add_params(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """Add S, alpha and beta, for `given_params`; ``default`` is what holds without them."""
    for flags, convert, what, usual in (
        (("-S", "--neighbors"), int, "neighbours that vote", "25; by the data when ranking"),
        (("--alpha",), float, "a vote weighs sim^alpha", "1"),
        (("--beta",), float, "sim = jaccard^beta * cosine", "1"),
    ):
        metavar = "S" if len(flags) > 1 else None
        help_ = f"{what} ({default or usual})"
        parser.add_argument(*flags, type=convert, metavar=metavar, help=help_)


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the model argument, the parameters that override the saved ones, and the machine."""
    parser.add_argument("model", type=Path, help="model folder made by `swnn fit`")
    add_params(parser, "the model's")
    add_machine(parser)


def given_params(args: argparse.Namespace) -> dict[str, Any]:
    """The parameters given on the command line, which override saved ones."""
    return given(n_neighbors=args.neighbors, alpha=args.alpha, beta=args.beta)


def given(**options: Any) -> dict[str, Any]:
    """Those options that are not None.

    Examples
    --------
    >>> given(alpha=2.0, beta=None)
    {'alpha': 2.0}
    """
    return {name: value for name, value in options.items() if value is not None}


def open_model(args: argparse.Namespace) -> AnyModel:
    """Open the model that the arguments name, of whatever kind."""
    params = given_params(args)
    # The width of files is checked with their names, by `_features`, before they are read.
    machine = {"backend": args.backend, "n_jobs": args.jobs, "allow_narrower": True}
    return load(args.model, **machine, **params)


def counted(count: int, noun: str) -> str:
    """A number of things, in words that fit it.

    Examples
    --------
    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def read_data(path: Path, strict: bool) -> tuple[Any, Any]:
    """Read a data file."""
    note(f"reading {path} ...")
    return read_xmc(path, strict=strict)


def find_names(data: Path, given: Path | None, stem: str) -> list[str] | None:
    """Read a name map: the given one, or the one beside the data under its usual name."""
    if given is not None:
        return read_names(given)
    for suffix in (".txt", ".txt.gz", ".txt.xz"):
        beside = data.parent / (stem + suffix)
        if beside.is_file():
            return read_names(beside)
    return None


def is_stdout(path: Path | None) -> bool:
    """Whether an output option means standard output."""
    return path is None or str(path) == "-"


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Refuse to replace a file that the command reads, under whatever name."""
    for out, source in itertools.product(outputs, inputs):
        if out is not None and source is not None and _is_same_file(out, source):
            raise ValueError(f"{out}: is an input of this command; write to another file")


def check_pages(*pages: Path | None) -> None:
    """Refuse to write a page without the extra that it needs: before the work, not after it."""
    if any(page is not None for page in pages):
        import_module("swnn_xp.pages")


def _is_same_file(out: Path, source: Path) -> bool:
    try:
        return out.is_file() and not is_special(out) and os.path.samefile(out, source)
    except OSError:  # what can't be opened is said when it is
        return False


@contextlib.contextmanager
def output(path: Path | None) -> Iterator[IO[str]]:
    """Open standard output, or a text file that appears when it is complete."""
    if path is None or is_stdout(path):
        yield sys.stdout
        return
    with open_atomic(path) as raw:
        text = io.TextIOWrapper(raw, encoding="utf-8", newline="\n", write_through=True)
        yield text
        text.detach()
