"""Score a file, or many, on a cluster: part files that appear as they finish."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from distributed import Client, as_completed

from swnn_xp._checks import check_count, check_width
from swnn_xp.distributed import folder
from swnn_xp.distributed.cluster import connect
from swnn_xp.distributed.files import as_paths, read_shape
from swnn_xp.distributed.parts import Parts
from swnn_xp.distributed.sharded import ShardedClassifier
from swnn_xp.io import iter_xmc
from swnn_xp.io.errors import PathLike
from swnn_xp.results import Ranking

_AHEAD = 2  # blocks under way for each thread of the cluster, so that none waits for the reader


class Scored(NamedTuple):
    """What a run did."""

    rows: int
    parts: int
    """Parts of the whole job."""
    skipped: int
    """Those that were there already."""


class _Block(NamedTuple):
    number: int
    first_row: int
    X: Any


def score_on_cluster(
    model: PathLike,
    file_or_parts: PathLike | Sequence[PathLike],
    out_dir: PathLike,
    *,
    cluster: str | Client = "local",
    k: int = 5,
    rows_per_part: int = 4096,
    label_names: list[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    strict: bool = False,
    **params: Any,
) -> Scored:
    """Rank labels for every row of a file and write them as part files.

    A part is written under another name and renamed when it is complete. Run again after an
    interruption, and the parts that are there are skipped.

    Parameters
    ----------
    model : path
        A model, or a folder of shards by `ShardedClassifier.save`, that all workers can read.
    file_or_parts : path, or sequence of paths
        Text files in the repository's format; only this process reads them. The rows of several
        are numbered through.
    out_dir : path
        Folder of the parts: ``part-000000.tsv`` and so on.
    cluster : str or Client
        As for `connect`.
    k : int
        Labels for each row.
    rows_per_part : int
        Rows that are sent, computed and written together.
    label_names : list of str, optional
        Default: those of the model, if it has any.
    progress : callable, optional
        Called with the rows that are done and the rows in all.
    strict : bool
        Refuse files that are not exactly in the format.
    **params
        Parameters that replace the model's, such as ``n_neighbors`` or ``backend``.

    Returns
    -------
    Scored

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from swnn_xp import SWNNClassifier, write_xmc
    >>> from swnn_xp.distributed import score_on_cluster
    >>> folder = Path(tempfile.mkdtemp())
    >>> X, Y = [[1, 1, 0], [0, 1, 1]], [[1, 0], [0, 1]]
    >>> SWNNClassifier().fit(X, Y).save(folder / "model")
    >>> write_xmc(folder / "new.txt", X, Y)
    >>> score_on_cluster(folder / "model", folder / "new.txt", folder / "out", cluster="local:1")
    Scored(rows=2, parts=1, skipped=0)
    >>> sorted(path.name for path in (folder / "out").iterdir())
    ['job.json', 'part-000000.tsv']
    """
    check_count(k, "k")
    check_count(rows_per_part, "rows_per_part")
    files = as_paths(file_or_parts)
    found = folder.read(model, **params)
    names = label_names or found.label_names
    if names is not None and len(names) < found.n_labels:
        raise ValueError(f"there are {len(names)} label names for {found.n_labels} labels")
    sizes = [_n_rows(file, found.n_features) for file in files]
    rows, n_parts = sum(sizes), sum(-(-size // rows_per_part) for size in sizes)
    parts = Parts(out_dir, _job(found, files, k, rows_per_part, names))
    skipped = sum(parts.is_done(number) for number in range(n_parts))
    if skipped < n_parts:
        with connect(cluster) as client:
            clf = ShardedClassifier(client, *found[:3], **found.params)
            done = skipped * rows_per_part
            for block, best in _ranked(clf, _missing(files, rows_per_part, strict, parts), k):
                parts.write(block.number, block.first_row, best, names)
                done += best.labels.shape[0]
                if progress is not None:
                    progress(min(done, rows), rows)
    return Scored(rows, n_parts, skipped)


def _n_rows(file: PathLike, n_features: int) -> int:
    shape = read_shape(file)
    try:
        check_width(shape.n_features, n_features)
    except ValueError as error:
        raise ValueError(f"{os.fspath(file)}: {error}") from None
    return shape.n_rows


def _job(
    found: folder.Folder, files: Sequence[PathLike], k: int, rows: int, names: list[str] | None
) -> dict[str, Any]:
    """What decides the content of the parts."""
    statuses = [os.stat(file) for file in files]
    return {
        "model": [recipe.manifest for recipe in found.recipes],
        "params": folder.deciding(found.params),
        "files": [
            [os.path.basename(f), s.st_size, s.st_mtime_ns]
            for f, s in zip(files, statuses, strict=True)
        ],
        "k": k,
        "rows_per_part": rows,
        "label_names": hashlib.sha256(json.dumps(names).encode()).hexdigest(),
    }


def _missing(files: Sequence[PathLike], rows: int, strict: bool, parts: Parts) -> Iterator[_Block]:
    """Read the blocks whose parts are not there yet."""
    number = first_row = 0
    for file in files:
        for block in iter_xmc(file, rows, strict=strict):
            if not parts.is_done(number):
                yield _Block(number, first_row, block.X)
            number += 1
            first_row += block.X.shape[0]


def _ranked(
    clf: ShardedClassifier, blocks: Iterable[_Block], k: int
) -> Iterator[tuple[_Block, Ranking]]:
    """Rank blocks as they come and hand each out when it is done, in whatever order."""
    at_work: dict[str, _Block] = {}
    finished = as_completed()
    most = _AHEAD * max(1, sum(clf.client.nthreads().values()))
    for block in blocks:
        future = clf.rank_block(block.X, k)
        at_work[future.key] = block._replace(X=None)
        finished.add(future)
        if len(at_work) >= most:
            future = next(finished)
            yield at_work.pop(future.key), future.result()
    for future in finished:
        yield at_work.pop(future.key), future.result()
