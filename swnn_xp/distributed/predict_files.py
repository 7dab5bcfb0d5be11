"""Predict one file or many on a cluster: output files that appear as they finish.

Each file of the output folder is complete or absent, so an interrupted job can resume.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from distributed import Client, as_completed

from swnn_xp.bulk.lines import FORMATS, Columns, LineWriter, Threshold
from swnn_xp.bulk.sources import (
    JsonRows,
    RowId,
    RowMap,
    RowSource,
    check_file_width,
    file_identity,
    open_source,
)
from swnn_xp.checks import check_count
from swnn_xp.distributed import shard_folder
from swnn_xp.distributed.cluster import connect, tasks_in_flight
from swnn_xp.distributed.shard_folder import ShardFolder
from swnn_xp.distributed.sharded import ShardedClassifier
from swnn_xp.distributed.shards import as_paths, read_shape
from swnn_xp.io.files import PathLike, is_leftover, open_output
from swnn_xp.io.json_lines import iter_json_lines
from swnn_xp.results import RankedProbabilities

_JOB = "job.json"


class OutputParts:
    """The output files of one job: ``part-000000.tsv`` and so on.

    Parameters
    ----------
    folder : path
        `create` makes it if it is missing.
    job : dict
        What determines the content of the parts, in JSON's types. A folder with the parts of
        another job is refused.
    writer : LineWriter
    """

    def __init__(
        self, folder: str | os.PathLike[str], job: dict[str, Any], writer: LineWriter
    ) -> None:
        self._folder, self._job, self._writer = Path(folder), job, writer
        self._record = self._folder / _JOB
        if self._record.exists():
            if (key := _difference(self._record, job)) is not None:
                raise ValueError(f"{folder}: holds parts of another job ({key}); name a new folder")
        elif self._folder.exists() and (other := _unexpected_entry(self._folder)):
            raise ValueError(f"{folder}: holds {other!r} but no {_JOB}: not a folder of parts")

    def create(self) -> None:
        """Make the folder and record the job in it, unless an earlier run did."""
        self._folder.mkdir(parents=True, exist_ok=True)
        if not self._record.exists():
            with open_output(self._record) as file:
                file.write(json.dumps(self._job, indent=1).encode())

    def path(self, number: int) -> Path:
        """Where a part is, or will be."""
        return self._folder / f"part-{number:06d}.{self._writer.format.name}"

    def is_done(self, number: int) -> bool:
        """Whether a part exists; if so, it is complete."""
        return self.path(number).exists()

    def write(
        self,
        number: int,
        first_row: int,
        best: RankedProbabilities,
        ids: Sequence[RowId] | None = None,
    ) -> None:
        """Write a part."""
        text = self._writer.header + self._writer.lines(first_row, best, ids)
        with open_output(self.path(number)) as file:
            file.write(text.encode())


def _unexpected_entry(folder: Path) -> str | None:
    """An entry that is not a leftover of a run killed before it wrote its record."""
    return next((e.name for e in folder.iterdir() if not is_leftover(e.name, _JOB)), None)


def _difference(record: Path, job: dict[str, Any]) -> str | None:
    try:
        found = json.loads(record.read_bytes())
        return next((key for key in job if found.get(key) != job[key]), None)
    except (ValueError, AttributeError):
        return f"{_JOB} can't be read"


_COUNTED = 4096  # JSON lines that are counted together


@dataclass(frozen=True)
class OutputOptions:
    """How `predict_on_cluster` reads its input and writes its output.

    Attributes
    ----------
    rows_per_part : int
        Rows that are sent, computed and written together.
    format : {"tsv", "csv", "jsonl"}
    label_names : list of str, optional
        Default: the model's, if it has any.
    strict : bool
        Refuse files that are not exactly in the format.
    threshold : Threshold
        Which of the ranked labels are written.
    row_map : path, optional
        Ids of the rows, one per line.
    """

    rows_per_part: int = 4096
    format: str = "tsv"
    label_names: list[str] | None = None
    strict: bool = False
    threshold: Threshold = Threshold()  # noqa: RUF009 - frozen
    row_map: PathLike | None = None

    def __post_init__(self) -> None:
        check_count(self.rows_per_part, "rows_per_part")
        if self.format not in FORMATS:
            raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {self.format!r}")


class PredictedParts(NamedTuple):
    """What a run did."""

    rows: int
    parts: int
    """Parts of the whole job."""
    skipped: int
    """Parts that existed already."""


class _Block(NamedTuple):
    number: int
    first_row: int
    X: Any
    ids: Sequence[RowId] | None


def predict_on_cluster(
    model: PathLike,
    files: PathLike | Sequence[PathLike],
    out_dir: PathLike,
    *,
    cluster: str | Client = "local",
    k: int = 5,
    options: OutputOptions = OutputOptions(),
    progress: Callable[[int, int], None] | None = None,
    **params: Any,
) -> PredictedParts:
    """Rank labels for every row of some files and write them to a folder of files.

    A part is written under another name and renamed when it is complete. After an interruption,
    the same call skips the parts that exist.

    Parameters
    ----------
    model : path
        A model, or a folder of shards by `ShardedClassifier.save`, that all workers can read.
    files : path, or sequence of paths
        Text files in the repository's format, with a header, or JSON lines; only this process
        reads them. Rows of several files are numbered consecutively.
    out_dir : path
        Folder of the parts: ``part-000000.tsv`` and so on.
    cluster : str or Client
        As for `connect`.
    k : int
        Labels per row.
    options : OutputOptions
        Format, size of the parts, label names, strictness.
    progress : callable, optional
        Called with the number of finished rows and of all rows.
    **params
        Parameters that override the model's, such as ``n_neighbors`` or ``backend``.

    Returns
    -------
    PredictedParts

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from swnn_xp import SWNNClassifier, write_xmc
    >>> from swnn_xp.distributed import predict_on_cluster
    >>> folder = Path(tempfile.mkdtemp())
    >>> X, y = [[1, 1, 0], [0, 1, 1]], [[1, 0], [0, 1]]
    >>> SWNNClassifier().fit(X, y).save(folder / "model")
    >>> write_xmc(folder / "new.txt", X, y)
    >>> predict_on_cluster(folder / "model", folder / "new.txt", folder / "out", cluster="local:1")
    PredictedParts(rows=2, parts=1, skipped=0)
    >>> sorted(path.name for path in (folder / "out").iterdir())
    ['job.json', 'part-000000.tsv']
    """
    check_count(k, "k")
    folder = shard_folder.read(model, **params)
    sources = [
        open_source(file, folder.input_features, strict=options.strict) for file in as_paths(files)
    ]
    job = _Job(folder, sources, min(k, folder.n_labels), options)
    sizes = [_n_rows(source, job.model.n_features) for source in sources]
    rows, n_parts = sum(sizes), sum(-(-size // options.rows_per_part) for size in sizes)
    parts = OutputParts(out_dir, job.identity(), job.writer())
    skipped = sum(parts.is_done(number) for number in range(n_parts))
    if skipped < n_parts:
        with connect(cluster) as client:
            parts.create()
            done = skipped * options.rows_per_part
            for block, best in _ranked(job.classifier(client), _missing(job, parts), job.k):
                parts.write(block.number, block.first_row, best, block.ids)
                done += best.labels.shape[0]
                if progress is not None:
                    progress(min(done, rows), rows)
    parts.create()  # if there was no row
    return PredictedParts(rows, n_parts, skipped)


class _Job(NamedTuple):
    model: ShardFolder
    sources: Sequence[RowSource]
    k: int
    options: OutputOptions

    def writer(self) -> LineWriter:
        has_ids = self.options.row_map is not None or any(one.has_ids for one in self.sources)
        columns, threshold = Columns(has_ids, True), self.options.threshold
        return LineWriter(FORMATS[self.options.format], self._label_names(), columns, threshold)

    def classifier(self, client: Client) -> ShardedClassifier:
        model = self.model
        widths = model.n_features, model.n_labels
        return ShardedClassifier(
            client, model.recipes, *widths, ranker=model.ranker, **model.params
        )

    def identity(self) -> dict[str, Any]:
        """What determines the content of the parts."""
        return {
            "model": self.model.manifests(),
            "params": shard_folder.answer_params(self.model.params),
            "files": [source.identity() for source in self.sources],
            "row_map": None if (rows := self.options.row_map) is None else file_identity(rows),
            "k": self.k,
            "rows_per_part": self.options.rows_per_part,
            **self.writer().identity(),
        }

    def _label_names(self) -> list[str] | None:
        names = self.options.label_names or self.model.label_names
        if names is not None and len(names) < self.model.n_labels:
            raise ValueError(f"there are {len(names)} label names for {self.model.n_labels} labels")
        return names


def _n_rows(source: RowSource, n_features: int) -> int:
    if isinstance(source, JsonRows):
        return sum(len(block.records) for block in iter_json_lines(source.path, _COUNTED))
    shape = read_shape(source.path)
    check_file_width(source.path, shape.n_features, n_features)
    return shape.n_rows


def _missing(job: _Job, parts: OutputParts) -> Iterator[_Block]:
    """Read the blocks whose parts do not exist yet."""
    number = first_row = 0
    row_map = None if job.options.row_map is None else RowMap(job.options.row_map)
    for source in job.sources:
        for block in source.blocks(job.options.rows_per_part):
            if block.is_cut:  # a part is complete or absent
                continue
            ids = block.ids if row_map is None else row_map.take(block.X.shape[0])
            if not parts.is_done(number):
                yield _Block(number, first_row, block.X, ids)
            number += 1
            first_row += block.X.shape[0]
    if row_map is not None:
        row_map.check_end()


def _ranked(
    clf: ShardedClassifier, blocks: Iterable[_Block], k: int
) -> Iterator[tuple[_Block, RankedProbabilities]]:
    """Rank blocks as they come and yield each when it is done, in any order."""
    in_flight: dict[str, _Block] = {}
    finished = as_completed()
    most = tasks_in_flight(clf.client)
    for block in blocks:
        future = clf.rank_block(block.X, k)
        in_flight[future.key] = block._replace(X=None)
        finished.add(future)
        if len(in_flight) >= most:
            future = next(finished)
            yield in_flight.pop(future.key), future.result()
    for future in finished:
        yield in_flight.pop(future.key), future.result()
