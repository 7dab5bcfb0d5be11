"""A fitted classifier as a folder on disk: what of it goes into the store, and back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from swnn_xp._types import LabelRows
from swnn_xp.backends import get_backend, resolve
from swnn_xp.live import Model, compact
from swnn_xp.store import StoreError, open_arrays, save_arrays

if TYPE_CHECKING:
    from swnn_xp.classifier import SWNNClassifier

_NAMES = ("feature_names", "label_names", "row_names")
_INDEX = "index_"
_SAVED_PARAMS = ("n_neighbors", "alpha", "beta")  # the others belong to the machine, not the model


def save_model(clf: SWNNClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier."""
    model = compact(clf.model_, **clf._options())
    arrays = {_INDEX + name: array for name, array in model.index.arrays().items()}
    arrays |= {"labels_indptr": model.labels.indptr, "labels_indices": model.labels.indices}
    if model.row_ids is not None:
        arrays["row_ids"] = model.row_ids
    meta = {
        "kind": "swnn-classifier",
        "index": model.index.backend,
        "next_id": model.next_id,
        "n_features": clf.n_features_in_,
        "n_labels": model.labels.n_labels,
        "params": {name: getattr(clf, name) for name in _SAVED_PARAMS},
    }
    names = {name: getattr(clf, name + "_") for name in _NAMES}
    save_arrays(path, arrays, meta, {k: v for k, v in names.items() if v is not None})


def load_model(
    cls: type[Any], path: str | os.PathLike[str], *, mmap: bool, verify: bool, **params: Any
) -> Any:
    """Open a classifier that `save_model` wrote."""
    stored = open_arrays(path, mmap=mmap, verify=verify)
    meta = stored.meta
    try:
        if meta["kind"] != "swnn-classifier":
            raise StoreError(f"{path}: holds a {meta['kind']!r}, not a classifier")
        clf = cls(**(meta["params"] | params))
        clf._check_params()
        clf.n_features_in_ = int(meta["n_features"])
        arrays = stored.arrays
        clf.model_ = Model(
            index=_index(clf, meta["index"], arrays),
            labels=LabelRows(
                arrays["labels_indptr"], arrays["labels_indices"], int(meta["n_labels"])
            ),
            next_id=int(meta["next_id"]),
            row_ids=arrays.get("row_ids"),
        )
    except (KeyError, TypeError) as error:
        raise StoreError(f"{path}: manifest.json lacks or garbles {error}") from error
    for name in _NAMES:
        setattr(clf, name + "_", stored.names.get(name))
    return clf


def _index(clf: SWNNClassifier, saved_as: str, arrays: dict[str, Any]) -> Any:
    """Open the saved index; build another from its rows if a different backend is asked for."""
    options = clf._options()
    own = {name[len(_INDEX) :]: a for name, a in arrays.items() if name.startswith(_INDEX)}
    index = get_backend(saved_as).load().from_arrays(own, clf.n_features_in_, **options)
    wanted = saved_as if clf.backend == "auto" else resolve(clf.backend).name
    if wanted == saved_as:
        return index
    return get_backend(wanted).load().build(index.rows(), **options)
