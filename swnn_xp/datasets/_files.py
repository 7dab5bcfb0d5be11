"""Where the files of a named data set are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from ._registry import PLAIN_FILES, Published, find_published, key

ROOT_VARIABLE = "SWNN_DATA"
_SUFFIXES = ("", ".gz", ".xz")
_FEATURE_MAPS = ("feature_map.txt", "Xf.txt")
_LABEL_MAPS = ("label_map.txt", "Y.txt")


class Files(NamedTuple):
    """Files of one data set: a (train, test) pair or (all rows, train split, test split)."""

    data: tuple[Path, ...]
    feature_map: Path | None
    label_map: Path | None


def data_root(root: str | os.PathLike[str] | None) -> Path | None:
    """Return the folder to look in: `root`, or what ``$SWNN_DATA`` says, or None."""
    where = root if root is not None else os.environ.get(ROOT_VARIABLE) or None
    return None if where is None else Path(where)


def find_files(name: str, root: Path) -> Files | None:
    """Find the files of a data set in a folder of data sets, or in its own folder.

    A set's folder is named like the set or an alias, whatever the case and punctuation, with or
    without ``.bow``. Files directly in `root` count if they bear the set's own names.
    """
    published = find_published(name)
    own = published.files if published else ()
    found = _match(root, own)
    for folder in _folders_of(name, published, root):
        found = found or _match(folder, own + PLAIN_FILES)
    return found


def _folders_of(name: str, published: Published | None, root: Path) -> list[Path]:
    names = (published.name, *published.aliases) if published else (name,)
    wanted = {key(n) for n in names} | {key(n + ".bow") for n in names}
    inside = sorted(root.iterdir()) if root.is_dir() else []
    return [path for path in [root, *inside] if path.is_dir() and key(path.name) in wanted]


def _match(folder: Path, layouts: tuple[tuple[str, ...], ...]) -> Files | None:
    for layout in layouts:
        paths = [_existing(folder, (name,)) for name in layout]
        if all(paths):
            data = tuple(path for path in paths if path)
            maps = (_existing(folder, _FEATURE_MAPS), _existing(folder, _LABEL_MAPS))
            return Files(data, *maps)
    return None


def _existing(folder: Path, names: tuple[str, ...]) -> Path | None:
    paths = (folder / (name + suffix) for name in names for suffix in _SUFFIXES)
    return next((path for path in paths if path.is_file()), None)
