"""Whether a data file has the features of the model: their number, and their names if known."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple, Protocol

from swnn_xp.bulk.sources import JsonRows, RowSource, open_source
from swnn_xp.checks import check_same_names, fingerprint
from swnn_xp.cli._common import find_names
from swnn_xp.io.files import BOM, can_rewind, open_input
from swnn_xp.io.grammar import LineError, parse_header
from swnn_xp.loading import AnyModel


class FeatureSpace(Protocol):
    """What is known of a model's features."""

    @property
    def n_features_in_(self) -> int:
        """Their number."""

    @property
    def feature_space_(self) -> str | None:
        """Digest of their names, if they have names."""

    @property
    def feature_names_(self) -> list[str] | None:
        """Their names."""


class NamelessFeatures(NamedTuple):
    """The feature space of a model without names."""

    n_features_in_: int
    feature_space_: str | None = None
    feature_names_: list[str] | None = None


def add_feature_checks(parser: argparse.ArgumentParser) -> None:
    """Add the ways out of the checks."""
    parser.add_argument(
        "--allow-narrower",
        action="store_true",
        help="take files with fewer features than the model: the missing ones are the last",
    )
    parser.add_argument(
        "--ignore-feature-map",
        action="store_true",
        help="do not compare feature_map.txt beside a file with the model's names",
    )


def open_checked(clf: AnyModel, file: Path, args: argparse.Namespace) -> RowSource:
    """Open rows for a model, after `check_features`; JSON lines say themselves what they hold."""
    source = open_source(file, clf, strict=args.strict)
    if not isinstance(source, JsonRows):
        check_features(clf, file, args)
    return source


def check_features(model: FeatureSpace, file: Path, args: argparse.Namespace) -> None:
    """Refuse a file of another feature space, and say how to take it all the same.

    A file without a header, and anything but a regular file, has no feature space to compare.
    """
    if not can_rewind(file):  # as standard input, even from a file
        return
    found, expected = _header_width(file), model.n_features_in_
    if found is not None and found < expected and not args.allow_narrower:
        raise ValueError(
            f"{file}: has {found} features, but the model was fitted with {expected}; if they are "
            "its first ones, add --allow-narrower"
        )
    if model.feature_space_ is None or args.ignore_feature_map:
        return
    names = find_names(file, None, "feature_map")
    if names is not None and fingerprint(names) != model.feature_space_:
        _refuse(file, names, model.feature_names_ or [])


def _refuse(file: Path, names: list[str], expected: list[str]) -> None:
    try:
        check_same_names(names, expected)
    except ValueError as error:
        what = str(error).partition(": ")[2].replace("column", "feature")
        raise ValueError(
            f"{file}: feature_map.txt beside it names other features than the model's: {what}; "
            "--ignore-feature-map takes the file all the same"
        ) from None


def _header_width(file: Path) -> int | None:
    """Number of features that the first line declares; None if it is no header."""
    with open_input(file) as stream:
        line = stream.readline().removeprefix(BOM)
    try:
        return parse_header(line, strict=False)[1]
    except LineError:
        return None
