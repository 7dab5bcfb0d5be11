"""A model as a folder on disk: what of it goes into the store, and back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from swnn_xp.backends import Index, Placement, get_backend
from swnn_xp.checks import fingerprint
from swnn_xp.model.changes import compact
from swnn_xp.model.model import Extra, Model
from swnn_xp.model.targets import stored_targets, targets_from
from swnn_xp.rows.canonical import check_label_ids, untrusted_labels
from swnn_xp.rows.records import LabelRows
from swnn_xp.store import StoredModel, StoreError, open_arrays, save_arrays
from swnn_xp.store.manifest import load as load_manifest
from swnn_xp.text.vectorizer import (
    IDF,
    TextVectorizer,
    stored_arrays,
    stored_settings,
    vectorizer_from,
)

_INDEX, _EXTRA = "index_", "learned_"
_LIMITS = {"n_features": 2**31, "n_labels": 2**31, "next_id": 2**62}
_NAMED = {
    "feature_names": "n_features",
    "label_names": "n_labels",
    "label_uris": "n_labels",
    "row_names": "next_id",
}


def save_model(
    path: str | os.PathLike[str],
    estimator: str,
    model: Model,
    params: Mapping[str, Any],
) -> None:
    """Write a model, compacted, and the parameters of the estimator it belongs to."""
    model = compact(model)
    index, extra = model.segments[0], model.ranking.stored()
    arrays = {_INDEX + name: array for name, array in index.arrays().items()}
    arrays |= {"labels_indptr": model.labels.indptr, "labels_indices": model.labels.indices}
    if model.excluded is not None:
        arrays |= {"excluded_indptr": model.excluded.indptr}
        arrays |= {"excluded_indices": model.excluded.indices}
    if model.row_ids is not None:
        arrays["row_ids"] = model.row_ids
    if model.feature_weights is not None:
        arrays["feature_weights"] = model.feature_weights
    if model.values is not None:
        arrays["values"] = model.values
    targets, values = stored_targets(model.targets)
    arrays |= values
    arrays |= {_EXTRA + name: array for name, array in extra.arrays.items()}
    meta = {
        "kind": estimator,
        "index": index.stored_as,
        "next_id": model.next_id,
        "n_features": model.n_features,
        "n_labels": model.labels.n_labels,
        "params": dict(params),
        "targets": targets,
    }
    if "feature_names" in model.names:
        meta["feature_space"] = fingerprint(model.names["feature_names"])
    if extra.meta:
        meta["extra"] = dict(extra.meta)
    if model.vectorizer is not None:
        arrays |= stored_arrays(model.vectorizer)
        meta["text"] = stored_settings(model.vectorizer)
    save_arrays(path, arrays, meta, model.names)


@dataclass(frozen=True)
class SavedModel:
    """A folder that `save_model` wrote: its parameters are read, its arrays not yet used."""

    path: str | os.PathLike[str]
    stored: StoredModel
    params: dict[str, Any]
    counts: dict[str, int]
    saved_as: str
    """Backend that takes the arrays as they are."""

    @property
    def extra(self) -> Extra:
        """What the ranking has stored; not trusted."""
        arrays = {
            name.removeprefix(_EXTRA): array
            for name, array in self.stored.arrays.items()
            if name.startswith(_EXTRA)
        }
        meta = self.stored.meta.get("extra", {})
        if not isinstance(meta, dict):
            raise StoreError(self.path, f"manifest.json: missing or invalid field extra: {meta!r}")
        return Extra(arrays, meta)

    def model(self, backend: str, device: Any) -> Model:
        """Make the model.

        ``backend="auto"`` takes the arrays as they are; another backend is built from their rows.
        """
        saved_class = get_backend(self.saved_as).load()
        wanted = self.saved_as if backend == "auto" else backend
        index_class = get_backend(wanted).load()
        placement = index_class.placement.find(wanted, device)
        try:
            return self._assembled(saved_class, index_class, placement)
        except ValueError as error:
            raise StoreError(self.path, str(error)) from error
        except KeyError as error:
            raise StoreError(
                self.path, f"manifest.json: missing or invalid field {error}"
            ) from error

    def check(self, model: Model) -> None:
        """Look at every number of the model, also of its ranking."""
        try:
            model.check()
        except ValueError as error:
            raise StoreError(self.path, str(error)) from error

    def _assembled(
        self, saved_class: type[Index], index_class: type[Index], placement: Placement
    ) -> Model:
        arrays, counts = self.stored.arrays, self.counts
        index = self._index(saved_class, index_class, placement)
        if index.n_features != counts["n_features"]:
            raise ValueError(
                f"the index has {index.n_features} features, not {counts['n_features']}"
            )
        row_ids = arrays.get("row_ids")
        _check_ids(row_ids, index.n_rows, counts["next_id"])
        _check_names(self.stored.n_names, counts)
        labels = arrays["labels_indptr"], arrays["labels_indices"], counts["n_labels"]
        return Model(
            segments=(index,),
            placement=placement,
            labels=untrusted_labels(*labels, index.n_rows),
            next_id=counts["next_id"],
            row_ids=row_ids,
            names=self.stored.names,
            feature_space=_checked_space(self.stored),
            targets=targets_from(
                self.stored.meta.get("targets"),
                arrays,
                counts["n_labels"],
                "label_names" in self.stored.n_names,
            ),
            feature_weights=_checked_weights(arrays.get("feature_weights"), index.n_features),
            vectorizer=self._vectorizer(),
            values=arrays.get("values"),
            excluded=_excluded(arrays, counts["n_labels"], index.n_rows),
            untrusted=True,
            mapped=self.stored.mapped,
        )

    def _vectorizer(self) -> TextVectorizer | None:
        stored, counts = self.stored, self.counts
        if "text" not in stored.meta:
            return None
        if "feature_names" not in stored.n_names:
            raise ValueError("there are no feature_names, which the text needs")
        return vectorizer_from(
            stored.meta["text"],
            stored.arrays.get(IDF),
            lambda: stored.names["feature_names"],
            counts["n_features"],
        )

    def _index(
        self, saved_class: type[Index], index_class: type[Index], placement: Placement
    ) -> Index:
        n_features = self.counts["n_features"]
        stored = self.stored.arrays
        arrays = {n.removeprefix(_INDEX): a for n, a in stored.items() if n.startswith(_INDEX)}
        if index_class is saved_class:
            return index_class.from_arrays(arrays, n_features, placement)
        host = saved_class.placement.find(self.saved_as)
        saved = saved_class.from_arrays(arrays, n_features, host)
        return index_class.build(saved.rows(), placement)


def open_model(
    path: str | os.PathLike[str], estimator: str, *, mmap: bool, verify: bool
) -> SavedModel:
    """Open a folder that `save_model` wrote for this estimator; anything else is refused."""
    stored = open_arrays(path, mmap=mmap, verify=verify)
    try:
        meta = stored.meta
        if meta["kind"] != estimator:
            raise StoreError(path, f"holds a {meta['kind']!r}, not a {estimator}")
        get_backend(meta["index"])
        return SavedModel(path, stored, dict(meta["params"]), _counts(meta), meta["index"])
    except StoreError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(path, f"manifest.json: missing or invalid field {error}") from error


def _counts(meta: dict[str, Any]) -> dict[str, int]:
    """Counts of the manifest; TypeError where one is not a count."""
    for name, limit in _LIMITS.items():
        if type(meta[name]) is not int or not 0 <= meta[name] < limit:
            raise TypeError(f"{name}: {meta[name]!r}")
    return {name: meta[name] for name in _LIMITS}


def _check_ids(row_ids: Any, n_rows: int, next_id: int) -> None:
    used = n_rows
    if row_ids is not None:
        fits = row_ids.dtype == np.int64 and row_ids.shape == (n_rows,)
        if not fits or row_ids.min(initial=0) < 0 or np.any(row_ids[1:] <= row_ids[:-1]):
            raise ValueError("row_ids must be one id for each row, ascending")
        used = int(row_ids.max(initial=-1)) + 1
    if next_id < used:
        raise ValueError(f"next_id {next_id} has been given to a row")


def _excluded(arrays: Mapping[str, Any], n_labels: int, n_rows: int) -> LabelRows | None:
    if "excluded_indptr" not in arrays:
        return None
    indptr, indices = arrays["excluded_indptr"], arrays["excluded_indices"]
    rows = untrusted_labels(indptr, indices, n_labels, n_rows)
    check_label_ids(rows)
    return rows


def _checked_weights(weights: Any, n_features: int) -> Any:
    if weights is not None:
        fits = weights.dtype == np.float64 and weights.shape == (n_features,)
        if not fits or not np.all((weights > 0) & (weights < np.inf)):
            raise ValueError("feature_weights must be one positive number for each feature")
    return weights


def _checked_space(stored: StoredModel) -> str | None:
    space = stored.meta.get("feature_space")
    if space is not None and (not isinstance(space, str) or "feature_names" not in stored.n_names):
        raise ValueError(f"feature_space is no digest of feature_names: {space!r}")
    return space


def saved_estimator(path: str | os.PathLike[str]) -> str:
    """Name of the estimator that a folder holds, as its manifest says."""
    return str(load_manifest(Path(path)).meta.get("kind"))


def _check_names(n_names: dict[str, int], counts: dict[str, int]) -> None:
    for names, count in n_names.items():
        if names in _NAMED and count != counts[_NAMED[names]]:
            raise ValueError(f"there are {count} {names} for {counts[_NAMED[names]]}")
