"""What `swnn fit` and `swnn tune` share of learning: kinds, parameters, files of parameters."""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path
from typing import Any

from swnn_xp.cli._common import given

KINDS = ("weights", "ranking")
_VOTE = ("n_neighbors", "alpha", "beta", "calibrate")
_RANKING = (*_VOTE, "n_candidates", "C", "vote_weight", "learn_weights", "rare_labels",
            "random_state")  # fmt: skip
_PARAMS = {None: _VOTE, "weights": (*_VOTE, "random_state"), "ranking": _RANKING}
_AUTO = ("n_neighbors", "n_candidates", "C", "vote_weight")
_OPTIONS = {
    "n_candidates": "--candidates",
    "C": "--C",
    "vote_weight": "--vote-weight",
    "learn_weights": "--no-feature-weights",
    "rare_labels": "--rare-labels",
    "random_state": "--seed",
}


def add_learning(parser: argparse.ArgumentParser) -> None:
    """Add --learn and the parameters of learning, for `learning_of`."""
    group = parser.add_argument_group("learning")
    group.add_argument(
        "--learn",
        choices=KINDS,
        help="learn feature weights, or these and a ranker of labels (default: neither)",
    )
    group.add_argument(
        "--candidates", type=int, metavar="K", help="labels that are ranked (by the data)"
    )
    group.add_argument("--C", type=float, help="how closely label models fit (by the data)")
    group.add_argument(
        "--vote-weight", type=float, metavar="W", help="of the vote beside a model (by the data)"
    )
    group.add_argument(
        "--no-feature-weights", action="store_true", help="rank without feature weights"
    )
    group.add_argument(
        "--calibrate",
        action=argparse.BooleanOptionalAction,
        help="fit probabilities on training rows (default: only with --learn ranking)",
    )
    group.add_argument(
        "--rare-labels",
        type=float,
        metavar="W",
        help="weight of a label's rarity in its score: 0.25 brings rare labels forward (0)",
    )
    group.add_argument("--seed", type=int, help="seed of training (0)")


def learning_of(args: argparse.Namespace) -> tuple[str | None, dict[str, Any]]:
    """Kind of learning and all parameters: those of --params, then those of the command line."""
    from_file = read_params(args.params) if args.params else {}
    kind = args.learn or from_file.get("learn")
    if from_file.get("learn", kind) != kind:
        raise ValueError(f"--learn {kind}: {args.params} is for --learn {from_file['learn']}")
    on_line = given(
        n_neighbors=args.neighbors,
        alpha=args.alpha,
        beta=args.beta,
        n_candidates=args.candidates,
        C=args.C,
        vote_weight=args.vote_weight,
        learn_weights=False if args.no_feature_weights else None,
        calibrate=args.calibrate,
        rare_labels=args.rare_labels,
        random_state=args.seed,
    )
    for name in on_line:
        if name not in _PARAMS[kind]:
            raise ValueError(f"{_OPTIONS[name]} needs {_kinds_with(name)}")
    from_file.pop("learn", None)
    for name in from_file:
        if name not in _PARAMS[kind]:
            raise ValueError(f"{args.params}: {name} needs {_kinds_with(name)}")
    return kind, from_file | on_line


def read_params(path: Path) -> dict[str, Any]:
    """Read parameters from a TOML file; names and types are checked here, values by `fit`."""
    try:
        params = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not TOML: {error}") from None
    for name, value in params.items():
        if name == "learn":
            if value not in KINDS:
                raise ValueError(f"{path}: learn must be 'weights' or 'ranking', got {value!r}")
        elif name not in _RANKING:
            raise ValueError(f"{path}: no parameter {name!r}; there are {', '.join(_RANKING)}")
        elif not isinstance(value, int | float) and not (name in _AUTO and value == "auto"):
            raise ValueError(f"{path}: {name} must be a number, got {value!r}")
    return params


def _kinds_with(name: str) -> str:
    return " or ".join(f"--learn {kind}" for kind in KINDS if name in _PARAMS[kind])
