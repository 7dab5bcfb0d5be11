"""Names for people: of features, labels and rows, each known or not."""

from __future__ import annotations


def known_names(**names: list[str] | None) -> dict[str, list[str]]:
    """Keep those that are known."""
    return {kind: known for kind, known in names.items() if known is not None}


def more_row_names(
    old: list[str] | None, n_old: int, new: list[str] | None, n_new: int
) -> list[str] | None:
    """Names of the rows after some were appended; rows without a name get one from their id.

    Examples
    --------
    >>> more_row_names(None, 1, ["b"], 1)
    ['row 0', 'b']
    """
    if old is None and new is None:
        return None
    known = [f"row {i}" for i in range(n_old)] if old is None else old
    return known + ([f"row {n_old + i}" for i in range(n_new)] if new is None else new)
