"""A corpus of tagged texts to learn from: texts, a matrix of labels, and their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from swnn_xp.io.errors import FormatError, PathLike
from swnn_xp.rows.canonical import to_csr
from swnn_xp.text.documents import Document, Fields, read_documents

__all__ = ["Corpus", "Document", "Fields", "read_corpus", "read_documents"]


class Corpus(NamedTuple):
    """Texts and their labels."""

    texts: list[str]
    y: sp.csr_array
    """Labels, 0/1 (n_texts, n_labels)."""
    label_names: list[str]
    label_uris: list[str] | None
    """What the file calls the labels, if a vocabulary gives them other names."""
    row_names: list[str] | None
    """Ids of the texts, if the file has them."""


def read_corpus(
    path: PathLike,
    fields: Fields = Fields(),  # noqa: B008 (it never changes)
    vocabulary: Mapping[str, str] | None = None,
) -> Corpus:
    """Read tagged texts; see `read_documents` for the formats.

    Parameters
    ----------
    path : str or path
    fields : Fields
        Names of the fields.
    vocabulary : mapping of str to str, optional
        Name of each label; labels that it lacks are named as in the file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "tagged.jsonl")
    >>> _ = path.write_text('{"text": "a chess game", "labels": ["game", "board"]}')
    >>> corpus = read_corpus(path)
    >>> corpus.label_names, corpus.y.toarray().tolist()
    (['board', 'game'], [[1, 1]])
    """
    documents = list(read_documents(path, fields))
    if not any(document.labels for document in documents):
        raise FormatError(path, None, "no text has labels: there is nothing to learn from")
    uris = sorted({label for document in documents for label in document.labels or ()})
    ids = [document.id for document in documents]
    return Corpus(
        texts=[document.text for document in documents],
        y=_label_matrix([document.labels or [] for document in documents], uris),
        label_names=uris if vocabulary is None else [vocabulary.get(uri, uri) for uri in uris],
        label_uris=None if vocabulary is None else uris,
        row_names=_row_names(ids),
    )


def _row_names(ids: list[str | None]) -> list[str] | None:
    if all(id_ is None for id_ in ids):
        return None
    return [f"row {i}" if id_ is None else id_ for i, id_ in enumerate(ids)]


def _label_matrix(labels: Sequence[Sequence[str]], names: Sequence[str]) -> sp.csr_array:
    number = {name: i for i, name in enumerate(names)}
    rows = [sorted(number[label] for label in each) for each in labels]
    indptr = np.cumsum([0, *map(len, rows)])
    indices = np.array([label for row in rows for label in row], np.int64)
    return to_csr(indptr, indices, np.ones(indices.size, np.int8), (len(rows), len(names)))
