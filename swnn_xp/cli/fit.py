"""`swnn fit`: index a training file and save it as a model."""

from __future__ import annotations

import argparse
import time
import tomllib
from pathlib import Path
from typing import Any

from swnn_xp import SWNNClassifier
from swnn_xp._progress import note
from swnn_xp.cli._common import (
    DATA_HELP,
    add_machine,
    add_name_maps,
    add_params,
    add_strict,
    find_names,
    given_params,
    read_data,
)

_PARAMS = ("n_neighbors", "alpha", "beta")


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
    parser = commands.add_parser("fit", help="index a training file and save the model")
    parser.add_argument("train", type=Path, help=DATA_HELP)
    parser.add_argument("-o", "--output", type=Path, required=True, help="model folder to write")
    add_params(parser)
    parser.add_argument(
        "--params", type=Path, metavar="FILE", help="TOML with the parameters, from `swnn tune`"
    )
    add_name_maps(parser, "TRAIN")
    add_machine(parser)
    add_strict(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    params = read_params(args.params) if args.params else {}
    clf = SWNNClassifier(**params | given_params(args), backend=args.backend, n_jobs=args.jobs)
    started = time.perf_counter()
    X, Y = read_data(args.train, args.strict)
    read = time.perf_counter()
    note("indexing ...")
    clf.fit(
        X,
        Y,
        feature_names=find_names(args.train, args.feature_map, "feature_map"),
        label_names=find_names(args.train, args.label_map, "label_map"),
    )
    built = time.perf_counter()
    clf.save(args.output)
    saved = time.perf_counter()
    size = sum(file.stat().st_size for file in args.output.rglob("*") if file.is_file())
    print(
        f"{args.output}: {X.shape[0]:,} rows, {X.nnz:,} non-zeros, {Y.shape[1]:,} labels; "
        f"{size / 1e6:,.1f} MB\n"
        f"read {read - started:.1f} s, indexed {built - read:.1f} s, saved {saved - built:.1f} s"
    )


def read_params(path: Path) -> dict[str, Any]:
    """Read parameters from a TOML file; names and types are checked here, values by `fit`."""
    try:
        params = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not TOML: {error}") from None
    for name, value in params.items():
        if name not in _PARAMS:
            raise ValueError(f"{path}: no parameter {name!r}; there are {', '.join(_PARAMS)}")
        if not isinstance(value, int | float):
            raise ValueError(f"{path}: {name} must be a number, got {value!r}")
    return params
