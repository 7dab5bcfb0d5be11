"""What `reproduce` found, as records and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Line(NamedTuple):
    """One figure: what it is, in the paper, here."""

    what: str
    paper: str
    here: str


class Reproduction(NamedTuple):
    """One data set: the paper's figures beside those measured here."""

    name: str
    is_synthetic: bool
    notes: tuple[str, ...]
    """Sentences for the reader: the origin of the data, differences from the published figures."""
    lines: tuple[Line, ...]

    def table(self) -> list[Sequence[str]]:
        """Head and lines; without the paper's column if the paper does not have the set."""
        if any(line.paper for line in self.lines):
            return [("", "paper", "here"), *self.lines]
        return [("", "here"), *((line.what, line.here) for line in self.lines)]

    @property
    def title(self) -> str:
        """Headline, which marks synthetic data."""
        return f"{self.name} (SYNTHETIC twin)" if self.is_synthetic else self.name


def to_markdown(results: Sequence[Reproduction], machine: str) -> str:
    """Format results as Markdown.

    Examples
    --------
    >>> one = Reproduction("Tiny", False, (), (Line("P@1", "50.00", "49.99"),))
    >>> print(to_markdown([one], "one core"))
    # The paper's figures and those measured here
    <BLANKLINE>
    Measured on: one core
    <BLANKLINE>
    ## Tiny
    <BLANKLINE>
    | | paper | here |
    |---|---|---|
    | P@1 | 50.00 | 49.99 |
    <BLANKLINE>
    """
    parts = ["# The paper's figures and those measured here", "", f"Measured on: {machine}", ""]
    for result in results:
        parts += [f"## {result.title}", ""]
        if result.notes:
            parts += [*(f"- {note}" for note in result.notes), ""]
        head, *lines = ("| " + " | ".join(row) + " |" for row in result.table())
        parts += [head.replace("|  |", "| |"), "|---" * (head.count("|") - 1) + "|", *lines, ""]
    return "\n".join(parts)
