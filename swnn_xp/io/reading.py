"""Read text files as sparse matrices, whole or block by block, and maps of names.

A file is opened as a `Table`: its header read, its reader chosen (`PythonRows`, or the compiled
`FastRows`). An `Assembler` turns the rows that a reader takes into matrices.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from io import BufferedIOBase
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from swnn_kernels.records import ParsedRows
from swnn_xp.io.files import (
    BOM,
    FormatError,
    PathLike,
    Position,
    can_rewind,
    open_input,
    open_output,
    unread,
)
from swnn_xp.io.grammar import (
    FLOAT32_LIMIT,
    MAX_ID,
    LineError,
    PythonRows,
    RowReader,
    Rules,
    is_blank,
    parse_header,
)

Engine: TypeAlias = Literal["auto", "fast", "python"]
Header: TypeAlias = bool | Literal["auto"]
Widths: TypeAlias = tuple[int | None, int | None]

# Bytes on disk below which loading numba and its cache takes longer than plain parsing.
_FAST_FROM = 1 << 18
_FOREIGN = {b"{": "JSON", b"[": "JSON", b"PAR1": "Parquet", b"\xff\xfe": "UTF-16"}
_ROWS = 1 << 16  # rows that are parsed at once
_LEAST, _MOST = 1 << 12, 1 << 22  # entries by which an array grows


class GrowingArray:
    """A one-dimensional array to append to.

    Chunks that are joined at the end need twice the memory, and so does growth by copying.
    Resizing in place goes through ``realloc``, which moves large blocks by remapping their pages;
    that is cheap enough to grow by a bounded step, so that the spare capacity stays small.

    Examples
    --------
    >>> numbers = GrowingArray(np.int32)
    >>> numbers.extend(np.array([3, 1])); numbers.extend(np.array([4]))
    >>> numbers.finish()
    array([3, 1, 4], dtype=int32)
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._array = np.empty(0, dtype)
        self._size = 0

    def extend(self, values: npt.NDArray[Any]) -> None:
        """Append `values`, converted to the array's type."""
        end = self._size + len(values)
        if end > len(self._array):
            step = min(max(end, _LEAST), _MOST)
            # No view of the array leaves this object before `finish`.
            self._array.resize(end + step, refcheck=False)
        self._array[self._size : end] = values
        self._size = end

    def finish(self) -> npt.NDArray[Any]:
        """The array, without its spare capacity."""
        self._array.resize(self._size, refcheck=False)
        return self._array


class Assembler:
    """Collects parsed rows and builds the two matrices.

    Labels are bool: one byte each, no overflow in products as with small integers, sums count in
    int64, and CuPy's sparse matrices accept them.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._label_counts = GrowingArray(np.int64)
        self._labels = GrowingArray(np.int32)
        self._feature_counts = GrowingArray(np.int64)
        self._features = GrowingArray(np.int32)
        self._values = GrowingArray(dtype)

    def add(self, parsed: ParsedRows) -> None:
        """Append rows."""
        self._label_counts.extend(parsed.label_counts)
        self._labels.extend(parsed.labels)
        self._feature_counts.extend(parsed.feature_counts)
        self._features.extend(parsed.features)
        self._values.extend(parsed.values)

    def finish(self, n_features: int | None, n_labels: int | None) -> tuple[csr_array, csr_array]:
        """Build X and y; a width of None means one more than the largest id."""
        features, labels = self._features.finish(), self._labels.finish()
        x = _csr(self._values.finish(), features, self._feature_counts.finish(), n_features)
        y = _csr(np.ones(len(labels), bool), labels, self._label_counts.finish(), n_labels)
        return x, y


def _csr(
    data: npt.NDArray[Any],
    indices: npt.NDArray[np.int32],
    counts: npt.NDArray[np.int64],
    width: int | None,
) -> csr_array:
    if width is None:
        width = int(indices.max()) + 1 if len(indices) else 0
    # SciPy wants one type for both index arrays, and int64 only where int32 is too small.
    dtype = np.int32 if len(indices) < 2**31 else np.int64
    indptr = np.zeros(len(counts) + 1, dtype)
    np.cumsum(counts, out=indptr[1:])
    matrix = csr_array((data, indices, indptr), shape=(len(counts), width))
    matrix.has_canonical_format = True
    return matrix


class Table(NamedTuple):
    """An open file whose rows come next."""

    path: PathLike
    reader: RowReader
    rules: Rules
    n_rows: int | None
    """Rows that the header promises; None without a header."""

    @property
    def widths(self) -> Widths:
        """Features and labels according to the header; None to take the largest ids."""
        return (None, None) if self.n_rows is None else self.rules[:2]

    def take(
        self, dtype: npt.DTypeLike, widths: Widths, most: int | None = None
    ) -> tuple[csr_array, csr_array]:
        """Read the next rows, all or at most `most` (of a pipe: those that have arrived)."""
        reader, assembler = self.reader, Assembler(dtype)
        stop = sys.maxsize if self.n_rows is None else self.n_rows
        if most is not None:
            stop = min(stop, reader.position.row + most)
        live = most is not None and not can_rewind(self.path)
        while wanted := min(stop - reader.position.row, _ROWS):
            parsed = reader.take(wanted)
            if not len(parsed.label_counts):
                break
            assembler.add(parsed)
            if live:
                break
        return assembler.finish(*widths)

    def check_end(self) -> None:
        """After the last row: no row is missing and nothing but blank lines follows."""
        if self.n_rows is None:
            return
        reader = self.reader
        if reader.position.row < self.n_rows:
            what = f"the header says {self.n_rows} rows, the file ends after {reader.position.row}"
            raise FormatError(self.path, reader.position.line + 1, what)
        while line := reader.line():
            if self.rules.strict or not is_blank(line):
                what = f"the header says {self.n_rows} rows, another line follows"
                raise FormatError(self.path, reader.position.line, what)


@contextlib.contextmanager
def open_table(
    path: PathLike,
    rules: Rules,
    *,
    header: Header = "auto",
    engine: Engine = "auto",
    resume: Position | None = None,
) -> Iterator[Table]:
    """Open a file, read its header, and move to its first row or to `resume`."""
    if header not in (True, False, "auto"):
        raise ValueError(f"header must be True, False or 'auto', not {header!r}")
    with open_input(path) as opened:
        stream, line = opened, opened.readline()
        bom = BOM if line.startswith(BOM) else b""
        if bom and rules.strict:
            raise FormatError(path, 1, "strict wants no byte-order mark")
        n_rows, first = None, line[len(bom) :]
        # Only a row can have a colon; a broken header must not pass for one.
        if header is True or (header == "auto" and b":" not in first):
            n_rows, rules = _read_header(path, first, rules)
            position = Position(0, 1, len(line))
        elif rules.strict:
            raise FormatError(path, 1, "strict wants a header: rows, features, labels")
        else:
            _refuse_foreign(path, first)
            position = Position(0, 0, len(bom))
        if resume is not None:
            position = resume
        if can_rewind(path):
            stream.seek(position.offset)
        else:
            stream = unread(line[position.offset :], stream)
        yield Table(path, _reader(path, stream, rules, position, engine), rules, n_rows)


def _refuse_foreign(path: PathLike, line: bytes) -> None:
    """Name formats that newcomers try; other lines are refused by the parser of rows."""
    for begin, what in _FOREIGN.items():
        if line.lstrip().startswith(begin):
            raise FormatError(path, 1, f"this is {what}, not the repository's text format")


def _read_header(path: PathLike, line: bytes, rules: Rules) -> tuple[int, Rules]:
    _refuse_foreign(path, line)
    try:
        n_rows, n_features, n_labels = parse_header(line, strict=rules.strict)
    except LineError as error:
        raise FormatError(path, 1, str(error)) from None
    return n_rows, rules._replace(n_features=n_features, n_labels=n_labels)


def _reader(
    path: PathLike, stream: BufferedIOBase, rules: Rules, position: Position, engine: Engine
) -> RowReader:
    if engine not in ("auto", "fast", "python"):
        raise ValueError(f"engine must be 'auto', 'fast' or 'python', not {engine!r}")
    is_small = can_rewind(path) and os.path.getsize(path) < _FAST_FROM
    if engine == "python" or (engine == "auto" and is_small):
        return PythonRows(path, stream, rules, position)
    from swnn_xp.io.fast import FastRows  # imports numba

    return FastRows(path, stream, rules, position)


def read_xmc(
    path: PathLike,
    *,
    strict: bool = False,
    header: Header = "auto",
    dtype: npt.DTypeLike = np.float32,
    engine: Engine = "auto",
) -> tuple[csr_array, csr_array]:
    r"""Read a file of the Extreme Classification Repository.

    The first line is ``rows features labels``; each further line is a row: labels joined by commas,
    a space, ``feature:value`` pairs. ``swnn_xp.io.grammar`` lists what is accepted and refused.

    Parameters
    ----------
    path : str or path
        Plain, gzip or xz, recognised by its first bytes.
    strict : bool, default False
        Refuse common deviations from the format: CRLF, more than one blank, unsorted or repeated
        features, a missing last newline, ...
    header : bool or "auto", default "auto"
        True: the first line must be a header. False: there is none, and the widths are one more
        than the largest ids. "auto": there is none if the first line has a colon.
    dtype : float32 or float64, default float32
        Type of the values.
    engine : {"auto", "fast", "python"}, default "auto"
        "fast" compiles its parser (once, then from numba's cache), "python" is slow but starts
        immediately, "auto" decides by the file's size. The results are the same.

    Returns
    -------
    X : csr_array of `dtype`, (rows, features)
        Ids ascending, repeated features summed, explicit zeros kept.
    y : csr_array of bool, (rows, labels)

    Raises
    ------
    FormatError
        A ValueError that names the file, the line and what was found there.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "train.txt")
    >>> _ = path.write_text("2 4 3\n0,2 1:0.5 3:1\n 0:2\n")
    >>> X, y = read_xmc(path)
    >>> X.toarray()
    array([[0. , 0.5, 0. , 1. ],
           [2. , 0. , 0. , 0. ]], dtype=float32)
    >>> y.indices
    array([0, 2], dtype=int32)
    """
    rules = Rules(strict=strict, limit=limit_of(dtype))
    with open_table(path, rules, header=header, engine=engine) as table:
        matrices = table.take(dtype, table.widths)
        table.check_end()
    return matrices


def read_svmlight(
    path: PathLike,
    *,
    n_features: int | None = None,
    n_labels: int | None = None,
    one_based: bool = False,
    dtype: npt.DTypeLike = np.float32,
    engine: Engine = "auto",
) -> tuple[csr_array, csr_array]:
    r"""Read a file without header: ``label,label feature:value ...``, one row per line.

    An empty line is a row without labels and features; ``#`` starts a comment.

    Parameters
    ----------
    path : str or path
        Plain, gzip or xz.
    n_features, n_labels : int, optional
        Widths of the matrices; ids beyond are errors. Default: one more than the largest id found.
    one_based : bool, default False
        Feature ids begin at 1 (label ids are always taken as they stand).
    dtype, engine
        As for `read_xmc`.

    Returns
    -------
    X : csr_array of `dtype`
    y : csr_array of bool

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "rows.svm")
    >>> _ = path.write_text("1 1:0.5 3:1\n0,2 2:7 # a comment\n")
    >>> X, y = read_svmlight(path, one_based=True)
    >>> X.shape, y.shape
    ((2, 3), (2, 3))
    """
    for name, width in (("n_features", n_features), ("n_labels", n_labels)):
        if width is not None and not 0 <= width <= MAX_ID + 1:
            raise ValueError(f"{name} must be between 0 and {MAX_ID + 1}, not {width}")
    rules = Rules(
        n_features=MAX_ID + 1 if n_features is None else n_features,
        n_labels=MAX_ID + 1 if n_labels is None else n_labels,
        comments=True,
        first_feature=int(one_based),
        limit=limit_of(dtype),
    )
    with open_table(path, rules, header=False, engine=engine) as table:
        return table.take(dtype, (n_features, n_labels))


def limit_of(dtype: npt.DTypeLike) -> float:
    """The smallest magnitude that `dtype` can't hold."""
    wanted = np.dtype(dtype)
    if wanted not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, not {wanted}")
    return FLOAT32_LIMIT if wanted == np.float32 else float("inf")


class XMCBlock(NamedTuple):
    """Consecutive rows of a file."""

    X: csr_array
    y: csr_array
    first_row: int
    """Number of the block's first row in the file, from 0."""
    end: Position
    """Where the next block begins."""


def iter_xmc(
    path: PathLike,
    rows: int = 4096,
    *,
    resume: Position | None = None,
    header: Header = True,
    strict: bool = False,
    dtype: npt.DTypeLike = np.float32,
    engine: Engine = "auto",
) -> Iterator[XMCBlock]:
    r"""Read a repository file in blocks of `rows` rows, with one block in memory.

    Together the blocks are what `read_xmc` gives, and the same files are refused, after the blocks
    before the error have been returned.

    Parameters
    ----------
    path : str or path
        Plain, gzip or xz. A pipe is read as it comes: a block ends where no further line is there.
    rows : int, default 4096
        Rows of a block, at most; the last block of a file has the rest.
    resume : Position, optional
        ``end`` of an earlier block: continue after it. A compressed file is decompressed again up
        to there.
    header : bool or "auto", default True
        As for `read_xmc`. Without a header, each block is as wide as its own largest ids require.
    strict, dtype, engine
        As for `read_xmc`.

    Yields
    ------
    XMCBlock

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "test.txt")
    >>> _ = path.write_text("3 4 3\n0,2 1:0.5 3:1\n 0:2\n1 2:1\n")
    >>> first = next(iter_xmc(path, rows=2))
    >>> first.X.shape, first.end
    ((2, 4), Position(row=2, line=3, offset=25))
    >>> [block.first_row for block in iter_xmc(path, rows=2, resume=first.end)]
    [2]
    """
    if rows < 1:
        raise ValueError(f"rows must be at least 1, not {rows}")
    rules = Rules(strict=strict, limit=limit_of(dtype))
    with open_table(path, rules, header=header, engine=engine, resume=resume) as table:
        while True:
            first = table.reader.position.row
            X, y = table.take(dtype, table.widths, rows)
            if not X.shape[0]:
                break
            yield XMCBlock(X, y, first, table.reader.position)
        table.check_end()


def read_names(path: PathLike, *, encoding: str = "utf-8") -> list[str]:
    """Read names, one per line; the name of id ``i`` is the ``i``-th.

    Lines end in LF or CR LF; the last may lack its end. An empty line is an empty name. A
    byte-order mark is skipped. Plain, gzip or xz files.

    Parameters
    ----------
    path : str or path
        File to read.
    encoding : str, default "utf-8"
        Any ASCII-compatible encoding, such as "latin-1".

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "label_map.txt")
    >>> write_names(path, ["tool", "Spiel für Kinder"])
    >>> read_names(path)
    ['tool', 'Spiel für Kinder']
    """
    return list(iter_names(path, encoding=encoding))


def iter_names(path: PathLike, *, encoding: str = "utf-8") -> Iterator[str]:
    """Read the names of `read_names` one by one."""
    with open_input(path) as stream:
        for number, line in enumerate(stream, start=1):
            if number == 1:
                line = line.removeprefix(BOM)
            try:
                yield line.removesuffix(b"\n").removesuffix(b"\r").decode(encoding)
            except UnicodeDecodeError as error:
                byte = line[error.start]
                raise FormatError(path, number, f"byte 0x{byte:02x} is not {encoding}") from None


def read_label_features(path: PathLike) -> csr_array:
    """Read the features of labels: ``lbl_X_Xf.txt`` of the repository's label-feature sets.

    The first line gives the numbers of labels and features; each further line is a label with its
    ``feature:value`` pairs. Plain, gzip or xz files.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "lbl_X_Xf.txt")
    >>> write_names(path, ["2 3", "0:1 2:0.5", "1:1"])
    >>> read_label_features(path).toarray().tolist()
    [[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]]
    """
    lines = iter_names(path)
    header = next(lines, "").split()
    if len(header) != 2 or not all(_is_id(field) for field in header):
        raise FormatError(path, 1, "the first line must be the numbers of labels and features")
    n_labels, n_features = map(int, header)
    indptr, indices, values = [0], list[int](), list[float]()
    for number, line in enumerate(lines, start=2):
        if number > n_labels + 1:
            raise FormatError(path, number, f"more than the {n_labels} labels of the first line")
        for pair in line.split():
            feature, _, value = pair.partition(":")
            try:
                values.append(float(value))
            except ValueError:
                raise FormatError(path, number, f"{pair!r} is not feature:value") from None
            if not _is_id(feature) or int(feature) >= n_features:
                raise FormatError(path, number, f"feature {feature!r} is not below {n_features}")
            indices.append(int(feature))
        indptr.append(len(indices))
    if len(indptr) != n_labels + 1:
        raise FormatError(path, None, f"has {len(indptr) - 1} labels, not {n_labels}")
    return csr_array((values, indices, indptr), (n_labels, n_features))


def _is_id(field: str) -> bool:
    return field.isascii() and field.isdigit() and len(field) < 12


def read_pairs(path: PathLike) -> npt.NDArray[np.int64]:
    """Read pairs of a row and a label, one per line: what ``exclude`` of the estimators takes.

    The repository's label-feature sets have such files, ``filter_labels_test.txt``.

    Parameters
    ----------
    path : str or path
        File to read: plain, gzip or xz.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "filter_labels_test.txt")
    >>> write_names(path, ["0 7", "2 15"])
    >>> read_pairs(path).tolist()
    [[0, 7], [2, 15]]
    """
    pairs = []
    for number, line in enumerate(iter_names(path), start=1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 2 or not all(_is_id(field) for field in fields):
            shown = line if len(line) <= 40 else line[:40] + "..."
            raise FormatError(path, number, f"{shown!r} is not a row and a label")
        pairs.append([int(field) for field in fields])
        if max(pairs[-1]) > MAX_ID:
            raise FormatError(path, number, f"{max(pairs[-1])} is beyond {MAX_ID}")
    return np.asarray(pairs, np.int64).reshape(-1, 2)


def write_names(path: PathLike, names: Iterable[str]) -> None:
    r"""Write names as UTF-8, one per line; the file appears complete or not at all.

    Parameters
    ----------
    path : str or path
        File to write, compressed if its name ends in ``.gz`` or ``.xz``.
    names : iterable of str
        Names without line breaks.

    Examples
    --------
    >>> write_names("label_map.txt", ["two\nlines"])
    Traceback (most recent call last):
    ValueError: name 0 has a line break: 'two\nlines'
    """
    with open_output(path) as stream:
        for i, name in enumerate(names):
            if "\n" in name or "\r" in name:
                raise ValueError(f"name {i} has a line break: {name!r}")
            if i == 0 and name.startswith("\ufeff"):
                raise ValueError(f"name 0 begins with a byte-order mark: {name!r}")
            stream.write(name.encode("utf-8") + b"\n")
