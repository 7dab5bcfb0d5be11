"""A folder of shards on a shared path: saved models, and ``shards.json`` that lists them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from swnn_xp.bulk.journal import model_digest
from swnn_xp.bulk.records import InputFeatures, NumberedFeatures
from swnn_xp.distributed.shards import Shard, ShardError, StoredRecipe, machine_params
from swnn_xp.io.files import is_leftover, open_output
from swnn_xp.loading import is_ranked, load

FILE = "shards.json"
_KIND = "swnn-shards"
_RANKER = "ranker"
_ANSWER_PARAMS = ("n_neighbors", "alpha", "beta")


class ShardFolder(NamedTuple):
    """The content of a folder."""

    recipes: list[StoredRecipe]
    n_features: int
    n_labels: int
    params: dict[str, Any]
    label_names: list[str] | None
    ranker: StoredRecipe | None = None
    """What ranks the labels of neighbours that the shards have found."""
    postings: int = 0
    """Cap of the search; 0 is exact."""
    features: InputFeatures | None = None
    """Of a single model; shards have no names and take no texts."""

    @property
    def input_features(self) -> InputFeatures:
        """What rows of files may consist of."""
        return self.features or NumberedFeatures(self.n_features)

    def manifests(self) -> list[str]:
        """Identify the shards and the ranker."""
        return [one.manifest for one in (*self.recipes, self.ranker) if one is not None]


def shard_path(path: str | os.PathLike[str], i: int) -> str:
    """Folder of one shard."""
    return str(Path(path).absolute() / f"shard-{i:05d}")


def ranker_path(path: str | os.PathLike[str]) -> str:
    """Folder of the ranker."""
    return str(Path(path).absolute() / _RANKER)


def begin(path: str | os.PathLike[str]) -> None:
    """Create the folder; until `finish`, it is no longer the model that it was."""
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    other = next((entry.name for entry in folder.iterdir() if not _is_known(entry.name)), None)
    if other is not None:
        raise ValueError(f"{folder}: holds {other!r}, so it is no folder of shards to replace")
    (folder / FILE).unlink(missing_ok=True)
    for entry in folder.iterdir():
        if is_leftover(entry.name, FILE):
            entry.unlink(missing_ok=True)


def save_shard(shard: Shard, path: str) -> dict[str, Any]:
    """Write one shard; runs on its worker."""
    try:
        shard.clf.save(path)
    except OSError as error:
        raise ShardError(f"{path} can't be written: {error}") from error
    return {
        "path": Path(path).name,
        "manifest": model_digest(path),
        "n_rows": shard.clf.model_.next_id,
        "first": shard.first,
    }


def finish(path: str | os.PathLike[str], shards: list[dict[str, Any]], **record: Any) -> None:
    """List the shards, with what else `read` needs; this makes the folder a model."""
    with open_output(Path(path) / FILE) as file:
        file.write(json.dumps({"kind": _KIND, **record, "shards": shards}, indent=1).encode())


def read(path: str | os.PathLike[str], **params: Any) -> ShardFolder:
    """Read a folder of shards, or a single model as one shard.

    The given parameters override the saved ones.
    """
    folder = Path(path).absolute()
    if not (folder / FILE).exists():
        return _single(folder, params)
    try:
        record = json.loads((folder / FILE).read_bytes())
        if record["kind"] != _KIND:
            raise ValueError(f"is a {record['kind']!r}")
        recipes = [_recipe(folder, shard) for shard in record["shards"]]
        ranker = _recipe(folder, record["ranker"]) if record.get("ranker") else None
        widths = int(record["n_features"]), int(record["n_labels"])
        saved, names = record["params"], record["label_names"]
        postings = int(record["postings"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{folder / FILE}: is not a list of shards: {error}") from error
    if ranker is not None:
        _check_trained(saved, params)
    return ShardFolder(recipes, *widths, saved | params, names, ranker, postings)


def _recipe(folder: Path, saved: dict[str, Any]) -> StoredRecipe:
    path = str(folder / saved["path"])
    return StoredRecipe(path, saved["manifest"], saved["n_rows"], saved["first"])


def _single(folder: Path, params: dict[str, Any]) -> ShardFolder:
    clf = load(folder)
    recipe = StoredRecipe(str(folder), model_digest(folder), clf.n_samples_fit_)
    ranking = clf.current_model().ranking
    saved, postings = ranking.settings._asdict(), ranking.postings
    if is_ranked(clf):
        _check_trained(saved, params)
    widths = clf.n_features_in_, clf.n_labels_
    return ShardFolder(
        [recipe], *widths, saved | params, clf.label_names_, features=clf, postings=postings
    )


def _check_trained(trained: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Refuse parameters that a ranker was not trained with."""
    for name in wanted.keys() - machine_params(wanted).keys():
        if wanted[name] != trained.get(name):
            raise ValueError(
                f"{name}={wanted[name]!r}, but the ranker was trained with {trained.get(name)!r}"
            )


def answer_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that determine the answer, without those of how it is computed.

    Examples
    --------
    >>> answer_params({"n_neighbors": 25, "alpha": 1, "beta": 1, "backend": "cupy"})
    {'n_neighbors': 25, 'alpha': 1, 'beta': 1}
    """
    return {name: params[name] for name in _ANSWER_PARAMS}


def _is_known(name: str) -> bool:
    is_shard = name.startswith("shard-") and name[6:].isdecimal()
    return name in (FILE, _RANKER) or is_shard or is_leftover(name, FILE)
