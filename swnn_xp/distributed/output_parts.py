"""A folder of output files, each complete or absent, so that an interrupted job can resume."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from swnn_xp.bulk.lines import LineWriter
from swnn_xp.bulk.sources import RowId
from swnn_xp.io.atomic import is_leftover
from swnn_xp.io.streams import open_output
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
