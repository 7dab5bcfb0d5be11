"""What several commands share: reading data, opening models, writing output."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from swnn_xp import SWNNClassifier
from swnn_xp.backends import BACKENDS
from swnn_xp.cli._progress import note
from swnn_xp.io import read_names, read_xmc

DATA_HELP = "data file in the Extreme Classification Repository's text format (plain, .gz or .xz)"


def add_strict(parser: argparse.ArgumentParser) -> None:
    """Add --strict."""
    parser.add_argument(
        "--strict", action="store_true", help="refuse files that are not exactly in the format"
    )


def add_name_maps(parser: argparse.ArgumentParser, data: str) -> None:
    """Add the options that `find_names` takes; ``data`` is what the help calls the data file."""
    for kind in ("feature", "label"):
        parser.add_argument(
            f"--{kind}-map",
            type=Path,
            metavar="FILE",
            help=f"a {kind} name a line (default: {kind}_map.txt beside {data}, if there)",
        )


def add_machine(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose what computes, not what is computed."""
    names = ["auto", *BACKENDS]
    parser.add_argument(
        "--backend", choices=names, default="auto", help="what computes (default: auto)"
    )
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="threads; -1 for all (default: 1)"
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the model argument, what may override its parameters, and the machine options."""
    parser.add_argument("model", type=Path, help="model folder made by `swnn fit`")
    parser.add_argument(
        "-S",
        "--neighbors",
        type=int,
        metavar="S",
        help="neighbours that vote, instead of the model's",
    )
    parser.add_argument("--alpha", type=float, help="vote exponent, instead of the model's")
    parser.add_argument("--beta", type=float, help="Jaccard exponent, instead of the model's")
    add_machine(parser)


def open_model(args: argparse.Namespace) -> SWNNClassifier:
    """Open the model that the arguments name."""
    given = {"n_neighbors": args.neighbors, "alpha": args.alpha, "beta": args.beta}
    params = {name: value for name, value in given.items() if value is not None}
    return SWNNClassifier.load(args.model, backend=args.backend, n_jobs=args.jobs, **params)


def read_data(path: Path, strict: bool) -> tuple[Any, Any]:
    """Read a data file."""
    note(f"reading {path} ...")
    return read_xmc(path, strict=strict)


def find_names(data: Path, given: Path | None, stem: str) -> list[str] | None:
    """Read a name map: the one given, or one that lies beside the data under its usual name."""
    if given is not None:
        return read_names(given)
    for suffix in (".txt", ".txt.gz", ".txt.xz"):
        beside = data.parent / (stem + suffix)
        if beside.is_file():
            return read_names(beside)
    return None


@contextlib.contextmanager
def output(path: Path | None) -> Iterator[IO[str]]:
    """Open the output: stdout, or a file that appears only when it is complete."""
    if path is None or str(path) == "-":
        yield sys.stdout
        return
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("w", encoding="utf-8", newline="\n") as file:
            yield file
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
