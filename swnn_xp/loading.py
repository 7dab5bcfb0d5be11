"""Open a saved model, whatever estimator it belongs to."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeGuard

from swnn_xp.model.files import saved_estimator
from swnn_xp.store import StoreError

if TYPE_CHECKING:
    from swnn_xp.classifier import SWNNClassifier
    from swnn_xp.ranker import SWNNRanker

AnyModel: TypeAlias = "SWNNClassifier | SWNNRanker"
"""Whatever `load` returns."""
Kind = Literal["published", "weights", "ranking"]
"""The method as published, with feature weights, or with a ranker."""

# Imported on demand: a ranker needs numba, the method as published does not.
_HOMES = {
    "swnn-classifier": ("swnn_xp.classifier", "SWNNClassifier"),
    "swnn-ranker": ("swnn_xp.ranker", "SWNNRanker"),
}


def load(
    path: str | os.PathLike[str], *, mmap: bool = True, verify: bool = False, **params: Any
) -> AnyModel:
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
    if found not in _HOMES:
        raise StoreError(path, f"holds a {found!r}, which this version does not know")
    module, name = _HOMES[found]
    estimator: type[AnyModel] = getattr(import_module(module), name)
    return estimator.load(path, mmap=mmap, verify=verify, **params)


def holds_ranker(path: str | os.PathLike[str]) -> bool:
    """Whether a folder holds a `SWNNRanker`, by its manifest alone."""
    return saved_estimator(path) == "swnn-ranker"


def is_ranked(model: AnyModel) -> TypeGuard[SWNNRanker]:
    """Whether a model is a `SWNNRanker`."""
    return model.saved_as == "swnn-ranker"


def kind_of(model: AnyModel) -> Kind:
    """Tell what a fitted model has learned.

    Examples
    --------
    >>> from swnn_xp import SWNNClassifier
    >>> kind_of(SWNNClassifier().fit([[1, 0]], [[1]]))
    'published'
    """
    if is_ranked(model):
        return "ranking"
    return "published" if model.feature_weights_ is None else "weights"
