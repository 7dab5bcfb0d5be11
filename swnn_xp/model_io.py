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

_INDEX = "index_"


def save_model(clf: SWNNClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier."""
    model = compact(clf.model_, **clf._options())
    arrays = {_INDEX + name: array for name, array in model.index.arrays().items()}
    arrays |= {"labels_indptr": model.labels.indptr, "labels_indices": model.labels.indices}
    if model.row_ids is not None:
        arrays["row_ids"] = model.row_ids
    meta = {
        "kind": "swnn-classifier",
        "index": model.index.stored_as,
        "next_id": model.next_id,
        "n_features": clf.n_features_in_,
        "n_labels": model.labels.n_labels,
        # A search over parameters leaves NumPy's numbers behind, which JSON does not know.
        "params": {
            "n_neighbors": int(clf.n_neighbors),
            "alpha": float(clf.alpha),
            "beta": float(clf.beta),
        },
    }
    save_arrays(path, arrays, meta, model.names)


def load_model(
    cls: type[Any], path: str | os.PathLike[str], *, mmap: bool, verify: bool, **params: Any
) -> Any:
    """Open a classifier that `save_model` wrote."""
    stored = open_arrays(path, mmap=mmap, verify=verify)
    meta = stored.meta
    try:
        if meta["kind"] != "swnn-classifier":
            raise StoreError(path, f"holds a {meta['kind']!r}, not a classifier")
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
            names=stored.names,
        )
    except (KeyError, TypeError) as error:
        raise StoreError(path, f"manifest.json lacks or garbles {error}") from error
    return clf


def _index(clf: SWNNClassifier, saved_as: str, arrays: dict[str, Any]) -> Any:
    """Open the saved index; build another from its rows if a different backend is asked for."""
    options = clf._options()
    own = {name[len(_INDEX) :]: a for name, a in arrays.items() if name.startswith(_INDEX)}
    stored = get_backend(saved_as).load()
    wanted = saved_as if clf.backend == "auto" else resolve(clf.backend).name
    if wanted == saved_as:
        return stored.from_arrays(own, clf.n_features_in_, **options)
    index = stored.from_arrays(own, clf.n_features_in_, **(options | {"device": None}))
    return get_backend(wanted).load().build(index.rows(), **options)
