"""A folder of part files: each complete or absent, so that an interrupted job can go on."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from swnn_xp.io.streams import open_output
from swnn_xp.results import Ranking

_JOB = "job.json"


class Parts:
    """The part files of one job.

    Parameters
    ----------
    folder : path
        Made if it is missing.
    job : dict
        What decides the content of the parts, in what JSON has. A folder that holds the parts of
        another job is refused.
    """

    def __init__(self, folder: str | os.PathLike[str], job: dict[str, Any]) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        record = self._folder / _JOB
        if not record.exists():
            if strange := _strange(self._folder):
                raise ValueError(f"{folder}: holds {strange!r} but no {_JOB}: it is not ours")
            with open_output(record) as file:
                file.write(json.dumps(job, indent=1).encode())
        elif (other := _difference(record, job)) is not None:
            raise ValueError(f"{folder}: holds parts of another job ({other}); name a new folder")

    def path(self, number: int) -> Path:
        """Where a part is, or will be."""
        return self._folder / f"part-{number:06d}.tsv"

    def is_done(self, number: int) -> bool:
        """Tell whether a part is there: it is complete then."""
        return self.path(number).exists()

    def write(self, number: int, first_row: int, best: Ranking, names: list[str] | None) -> None:
        """Write a part: a line for each row and label, as `swnn predict` does."""
        lines = ["row\trank\tlabel\tscore\n"]
        ranked = zip(best.labels.tolist(), best.scores.tolist(), strict=True)
        for row, (labels, scores) in enumerate(ranked, first_row):
            for rank, (label, score) in enumerate(zip(labels, scores, strict=True), 1):
                if label >= 0:
                    shown = names[label].replace("\t", " ") if names else label
                    lines.append(f"{row}\t{rank}\t{shown}\t{score:.6g}\n")
        with open_output(self.path(number)) as file:
            file.write("".join(lines).encode())


def _strange(folder: Path) -> str | None:
    """Name something that is not what a run leaves that was killed before it wrote its record."""
    return next((e.name for e in folder.iterdir() if not e.match(f"{_JOB}.*.tmp")), None)


def _difference(record: Path, job: dict[str, Any]) -> str | None:
    try:
        found = json.loads(record.read_bytes())
        return next((key for key in job if found.get(key) != job[key]), None)
    except (ValueError, AttributeError):
        return f"{_JOB} can't be read"
