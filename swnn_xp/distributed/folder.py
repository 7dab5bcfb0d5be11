"""A folder of shards on a shared path: a saved model each, and ``shards.json`` that lists them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from swnn_xp.classifier import SWNNClassifier
from swnn_xp.distributed.shards import Shard, ShardError, StoredShard, manifest_checksum
from swnn_xp.io.streams import open_output

FILE = "shards.json"
_KIND = "swnn-shards"
_DECIDING = ("n_neighbors", "alpha", "beta")


class Folder(NamedTuple):
    """What a folder holds."""

    recipes: list[StoredShard]
    n_features: int
    n_labels: int
    params: dict[str, Any]
    label_names: list[str] | None


def shard_path(path: str | os.PathLike[str], i: int) -> str:
    """Folder of one shard."""
    return str(Path(path).absolute() / f"shard-{i:05d}")


def begin(path: str | os.PathLike[str]) -> None:
    """Make the folder; until `finish`, what was there before is not a model any more."""
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    strange = [entry.name for entry in folder.iterdir() if not _is_ours(entry.name)]
    if strange:
        raise ValueError(f"{folder}: holds {strange[0]!r} and no shards: it is not replaced")
    (folder / FILE).unlink(missing_ok=True)


def save_shard(shard: Shard, path: str) -> dict[str, Any]:
    """Write one shard; runs on its worker."""
    try:
        shard.clf.save(path)
    except OSError as error:
        raise ShardError(f"{path} can't be written: {error}") from error
    return {
        "path": Path(path).name,
        "manifest": manifest_checksum(path),
        "n_rows": shard.clf._model.next_id,
        "first": shard.first,
    }


def finish(
    path: str | os.PathLike[str],
    shards: list[dict[str, Any]],
    n_features: int,
    n_labels: int,
    params: dict[str, Any],
    label_names: list[str] | None,
) -> None:
    """List the shards: only now the folder is a model."""
    record = {
        "kind": _KIND,
        "label_names": label_names,
        "n_features": n_features,
        "n_labels": n_labels,
        "params": params,
        "shards": shards,
    }
    with open_output(Path(path) / FILE) as file:
        file.write(json.dumps(record, indent=1).encode())


def read(path: str | os.PathLike[str], **params: Any) -> Folder:
    """Read what a folder holds: shards, or a single model, which is one shard.

    The parameters given replace the saved ones.
    """
    folder = Path(path).absolute()
    if not (folder / FILE).exists():
        return _single(folder, params)
    try:
        record = json.loads((folder / FILE).read_bytes())
        if record["kind"] != _KIND:
            raise ValueError(f"is a {record['kind']!r}")
        recipes = [
            StoredShard(
                str(folder / shard["path"]), shard["manifest"], shard["n_rows"], shard["first"]
            )
            for shard in record["shards"]
        ]
        widths = int(record["n_features"]), int(record["n_labels"])
        return Folder(recipes, *widths, record["params"] | params, record["label_names"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{folder / FILE}: is not a list of shards: {error}") from error


def _single(folder: Path, params: dict[str, Any]) -> Folder:
    clf = SWNNClassifier.load(folder)
    recipe = StoredShard(str(folder), manifest_checksum(folder), clf.n_samples_fit_)
    params = deciding(clf.get_params()) | params
    return Folder([recipe], clf.n_features_in_, clf.n_labels_, params, clf.label_names_)


def deciding(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that decide the answer, without those that decide how it is computed.

    Examples
    --------
    >>> deciding({"n_neighbors": 25, "alpha": 1, "beta": 1, "backend": "cupy"})
    {'n_neighbors': 25, 'alpha': 1, 'beta': 1}
    """
    return {name: params[name] for name in _DECIDING}


def _is_ours(name: str) -> bool:
    return name == FILE or (name.startswith("shard-") and name[6:].isdecimal())
