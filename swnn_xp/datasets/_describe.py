"""The known data sets, and which of them can be loaded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from ._files import data_root, find_files
from ._registry import REGISTRY, Published


class Description(NamedTuple):
    """A known data set and where it is."""

    published: Published
    path: Path | None
    """The training file, or the file of all rows; None if not found or shipped."""
    at_hand: bool


def describe(root: str | os.PathLike[str] | None = None) -> list[Description]:
    """List every known data set with its published figures.

    Parameters
    ----------
    root : path, optional
        Folder to look for their files in; ``$SWNN_DATA`` if not given.

    Returns
    -------
    list of Description
        One per set, in the order of the registry.

    Examples
    --------
    >>> from swnn_xp import datasets
    >>> [row.published.n_labels for row in datasets.describe() if row.published.in_paper]
    [13330, 30938, 205443, 325056, 670091, 2812281]
    """
    folder = data_root(root)
    rows = []
    for published in REGISTRY.values():
        files = find_files(published.name, folder) if folder else None
        at_hand = files is not None or published.name == "debtags"
        rows.append(Description(published, files.data[0] if files else None, at_hand))
    return rows


def available(root: str | os.PathLike[str] | None = None) -> list[str]:
    """Names of the known data sets that can be loaded here.

    Parameters
    ----------
    root : path, optional
        Folder to look for their files in; ``$SWNN_DATA`` if not given.

    Returns
    -------
    list of str
        "debtags", and what was found.

    Examples
    --------
    >>> from swnn_xp import datasets
    >>> "debtags" in datasets.available()
    True
    """
    return [row.published.name for row in describe(root) if row.at_hand]
