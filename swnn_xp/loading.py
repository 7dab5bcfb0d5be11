"""Open a saved model, whatever estimator it belongs to."""

from __future__ import annotations

import os
from typing import Any

from swnn_xp.classifier import SWNNClassifier
from swnn_xp.model.files import saved_estimator
from swnn_xp.ranker import SWNNRanker
from swnn_xp.store import StoreError

_ESTIMATORS = {estimator.saved_as: estimator for estimator in (SWNNClassifier, SWNNRanker)}


def load(
    path: str | os.PathLike[str], *, mmap: bool = True, verify: bool = False, **params: Any
) -> SWNNClassifier | SWNNRanker:
    """Open a model that `save` wrote.

    Parameters
    ----------
    path : path of the folder
    mmap : bool
        Map the arrays into memory instead of reading them.
    verify : bool
        Check every array against its checksum, and every number in it, first.
    **params
        Parameters that replace the saved ones, such as ``backend``.

    Returns
    -------
    SWNNClassifier or SWNNRanker
        Whichever the folder holds.

    Examples
    --------
    >>> import tempfile
    >>> import swnn_xp
    >>> folder = tempfile.mkdtemp()
    >>> swnn_xp.SWNNClassifier().fit([[1, 0], [0, 1]], [[1, 0], [0, 1]]).save(folder)
    >>> type(swnn_xp.load(folder)).__name__
    'SWNNClassifier'
    """
    found = saved_estimator(path)
    if found not in _ESTIMATORS:
        raise StoreError(path, f"holds a {found!r}, which this version does not know")
    return _ESTIMATORS[found].load(path, mmap=mmap, verify=verify, **params)
