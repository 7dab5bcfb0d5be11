"""A fitted classifier as a folder on disk: what of it goes into the store, and back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from swnn_xp.backends import get_backend, resolve
from swnn_xp.model.model import Model, compact
from swnn_xp.rows.untrusted import opened_labels
from swnn_xp.store import StoredModel, StoreError, open_arrays, save_arrays

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
    """Open a classifier that `save_model` wrote; what of it can't be right is refused."""
    stored = open_arrays(path, mmap=mmap, verify=verify)
    meta = stored.meta
    try:
        if meta["kind"] != "swnn-classifier":
            raise StoreError(path, f"holds a {meta['kind']!r}, not a classifier")
        saved = _counts(meta)
        clf = cls(**(meta["params"] | params))
        clf._check_params()
        clf.n_features_in_ = saved["n_features"]
        wanted = None if clf.backend == "auto" else resolve(clf.backend).name
        try:
            clf.model_ = _model(clf, meta["index"], wanted, saved, stored)
            if verify:
                clf.model_.check()
        except ValueError as error:
            raise StoreError(path, str(error)) from error
    except (KeyError, TypeError) as error:
        raise StoreError(path, f"manifest.json lacks or garbles {error}") from error
    return clf


def _counts(meta: dict[str, Any]) -> dict[str, int]:
    """Counts of the manifest; TypeError where one is none."""
    limits = {"n_features": 2**31, "n_labels": 2**31, "next_id": 2**62}
    for name, limit in limits.items():
        if type(meta[name]) is not int or not 0 <= meta[name] < limit:
            raise TypeError(f"{name}: {meta[name]!r}")
    return {name: meta[name] for name in limits}


def _model(
    clf: SWNNClassifier,
    saved_as: str,
    wanted: str | None,
    saved: dict[str, int],
    stored: StoredModel,
) -> Model:
    arrays = stored.arrays
    index = _index(clf, saved_as, wanted or saved_as, arrays)
    if index.n_features != saved["n_features"]:
        raise ValueError(f"the index has {index.n_features} features, not {saved['n_features']}")
    row_ids = arrays.get("row_ids")
    if row_ids is not None:
        _check_ids(row_ids, index.n_rows)
    given = index.n_rows if row_ids is None else int(row_ids.max(initial=-1)) + 1
    if saved["next_id"] < given:
        raise ValueError(f"next_id {saved['next_id']} has been given to a row")
    _check_names(stored.n_names, saved)
    labels = arrays["labels_indptr"], arrays["labels_indices"], saved["n_labels"]
    return Model(
        index=index,
        labels=opened_labels(*labels, index.n_rows),
        next_id=saved["next_id"],
        row_ids=row_ids,
        names=stored.names,
        opened=True,
    )


def _check_ids(row_ids: Any, n_rows: int) -> None:
    fits = row_ids.dtype == np.int64 and row_ids.shape == (n_rows,)
    if not fits or row_ids.min(initial=0) < 0 or np.any(row_ids[1:] <= row_ids[:-1]):
        raise ValueError("row_ids must be one id for each row, ascending")


def _check_names(n_names: dict[str, int], saved: dict[str, int]) -> None:
    named = {"feature_names": "n_features", "label_names": "n_labels", "row_names": "next_id"}
    for names, count in n_names.items():
        if names in named and count != saved[named[names]]:
            raise ValueError(f"there are {count} {names} for {saved[named[names]]}")


def _index(clf: SWNNClassifier, saved_as: str, wanted: str, arrays: dict[str, Any]) -> Any:
    """Open the saved index; build another from its rows if a different backend is asked for."""
    options = clf._options()
    own = {name[len(_INDEX) :]: a for name, a in arrays.items() if name.startswith(_INDEX)}
    stored = get_backend(saved_as).load()
    if wanted == saved_as:
        return stored.from_arrays(own, clf.n_features_in_, **options)
    index = stored.from_arrays(own, clf.n_features_in_, **(options | {"device": None}))
    return get_backend(wanted).load().build(index.rows(), **options)
