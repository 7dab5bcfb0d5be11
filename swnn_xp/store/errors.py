"""The one error of a stored model."""

from __future__ import annotations

import os


class StoreError(ValueError):
    """A folder is not a model that can be opened, or not one that may be replaced.

    Attributes
    ----------
    path : str
        The file or folder at fault.
    what : str
        What is wrong with it.

    Examples
    --------
    >>> str(StoreError("model/manifest.json", "is not JSON"))
    'model/manifest.json: is not JSON'
    """

    def __init__(self, path: str | os.PathLike[str], what: str) -> None:
        self.path = os.fspath(path)
        self.what = what
        super().__init__(f"{self.path}: {what}")
