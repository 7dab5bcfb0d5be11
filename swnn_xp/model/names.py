"""Names for people: of features, labels and rows, each known or not."""

from __future__ import annotations


def known_names(**names: list[str] | None) -> dict[str, list[str]]:
    """Keep those that are known."""
    return {what: known for what, known in names.items() if known is not None}


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


def more_label_uris(
    old: list[str] | None, names: list[str] | None, n_labels: int
) -> list[str] | None:
    """Addresses of the labels after some were appended; a new label's is its name.

    Examples
    --------
    >>> more_label_uris(["http://example.org/1"], ["old", "new"], 2)
    ['http://example.org/1', 'new']
    """
    if old is None or names is None:
        return old
    return old + names[len(old) : n_labels]


def label_id(label: int | str, names: list[str] | None, n_labels: int) -> int:
    """Turn a label's name or id into its id, or say that there is no such label.

    Examples
    --------
    >>> label_id("cold", ["warm", "cold"], 2)
    1
    """
    if isinstance(label, str):
        if names is None:
            raise ValueError(f"label {label!r} is a name, but the model has no label names")
        if label not in names:
            raise ValueError(f"no label is called {label!r}")
        return names.index(label)
    if not 0 <= label < n_labels:
        raise ValueError(f"label {label} is outside 0..{n_labels - 1}")
    return int(label)
