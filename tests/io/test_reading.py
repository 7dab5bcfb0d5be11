"""Whole files: headers, counts, compression, errors with their line."""

import gzip
import lzma

import numpy as np
import pytest

from swnn_xp.io import FormatError, read_svmlight, read_xmc

TEXT = b"3 4 3\n0,2 1:0.5 3:1\n 0:2\n1 3:1 1:0.25 3:1\n"
DENSE = [[0, 0.5, 0, 1], [2, 0, 0, 0], [0, 0.25, 0, 2]]
LABELS = [[1, 0, 1], [0, 0, 0], [0, 1, 0]]


def refusal(read, path, **options):
    with pytest.raises(FormatError) as caught:
        read(path, **options)
    return caught.value


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
def test_reads_plain_and_compressed_whatever_the_name(make, engine, pack):
    X, Y = read_xmc(make(pack(TEXT), "data.bin"), engine=engine)
    assert X.dtype == np.float32
    assert Y.dtype == bool
    assert X.indices.dtype == X.indptr.dtype == Y.indices.dtype == np.int32
    assert X.has_canonical_format
    np.testing.assert_array_equal(X.toarray(), DENSE)
    np.testing.assert_array_equal(Y.toarray(), LABELS)


def test_tolerates_crlf_bom_blanks_and_a_missing_newline(make, engine):
    untidy = b"\xef\xbb\xbf 3  4\t3 \r\n0,2  1:0.5\t3:1 \r\n0:2\r\n1 3:1 1:0.25 3:1\n\r\n \n\t"
    for data in (untidy, TEXT[:-1], TEXT + b"\n\n", TEXT + b" "):
        X, Y = read_xmc(make(data), engine=engine)
        np.testing.assert_array_equal(X.toarray(), DENSE)
        np.testing.assert_array_equal(Y.toarray(), LABELS)


def test_blank_lines_are_rows(make, engine):
    X, Y = read_xmc(make(b"4 2 1\n\n0 1:1\n \n\r\n"), engine=engine)
    assert X.shape == (4, 2)
    assert X.indptr.tolist() == [0, 0, 1, 1, 1]
    assert Y.indptr.tolist() == [0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("data", "line", "what"),
    [
        (b"", 1, "'' is not a header: rows, features, labels"),
        (b"2 2\n", 1, "'2 2' is not a header: rows, features, labels"),
        (b"2 2 2\n0 1:1\n", 3, "the header says 2 rows, the file ends after 1"),
        (b"2 2 2\n0 1:1", 3, "the header says 2 rows, the file ends after 1"),
        (b"2 2 2\n", 2, "the header says 2 rows, the file ends after 0"),
        (b"999999999 2 2\n", 2, "the header says 999999999 rows, the file ends after 0"),
        (b"1 2 2\n0 1:1\n\n1 1:1\n", 4, "the header says 1 rows, another line follows"),
        (b"2 2 2\n0 1:1\n0 2:1\n", 3, "feature '2' is not below 2"),
        (b"2 2 2\n0 1:1\n2 1:1\n", 3, "label '2' is not below 2"),
        (b"3 2 2\n\n\n0 1:nan", 4, "feature 1: 'nan' is not a number"),
        (b"1 2 2\r0 1:1\r", 1, None),
        ("1 2 2\n0 1:1\n".encode("utf-16"), 1, None),
    ],
)
def test_errors_name_file_line_and_finding(make, engine, data, line, what):
    path = make(data)
    error = refusal(read_xmc, path, header=True, engine=engine)
    assert error.line == line
    assert str(error).startswith(f"{path}:{line}: ")
    if what is not None:
        assert str(error) == f"{path}:{line}: {what}"


def test_an_empty_file_is_refused(make, engine):
    assert refusal(read_xmc, make(b""), engine=engine).line == 1


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"\xef\xbb\xbf" + TEXT, 1),
        (TEXT, 4),
        (b"1 2 2\r\n0 1:1\n", 1),
        (b"1 2 2\n0 1:1", 2),
        (b"1 2 2\n0 1:1\n\n", 3),
        (b"2 2 2\n0 1:1\n0  1:1\n", 3),
        (b"0 1:1\n", 1),
    ],
)
def test_strict_refuses_more(make, engine, data, line):
    read_xmc(make(data), engine=engine)
    assert refusal(read_xmc, make(data), strict=True, engine=engine).line == line


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_damaged_compression_is_refused(make, engine, pack):
    packed = pack(TEXT * 1000)
    error = refusal(read_svmlight, make(packed[:-10]), engine=engine)
    assert error.line is None or error.line == 1
    assert refusal(read_xmc, make(pack(TEXT)[:-10]), engine=engine).line is None


def test_header_modes(make, engine):
    path = make(b"0 1:1\n1 3:1\n")
    X, Y = read_xmc(path, engine=engine)
    assert X.shape == (2, 4)
    assert Y.shape == (2, 2)
    assert refusal(read_xmc, path, header=True, engine=engine).line == 1
    assert read_xmc(make(b"7\n\n"), header=False, engine=engine)[1].shape == (2, 8)
    assert refusal(read_xmc, make(b"7\n\n"), engine=engine).line == 1
    with pytest.raises(ValueError, match="header must be"):
        read_xmc(path, header="no")


def test_values_are_rounded_as_asked(make, engine):
    path = make(b"1 3 1\n0 0:0.1 1:1e-320 2:16777217\n")
    X, _ = read_xmc(path, engine=engine)
    np.testing.assert_array_equal(X.data, np.array([0.1, 0, 16777216], np.float32))
    X, _ = read_xmc(path, dtype=np.float64, engine=engine)
    np.testing.assert_array_equal(X.data, [0.1, 1e-320, 16777217])
    wide = make(b"1 3 1\n0 0:1e300\n")
    assert read_xmc(wide, dtype=np.float64, engine=engine)[0].data[0] == 1e300
    assert refusal(read_xmc, wide, engine=engine).line == 2
    with pytest.raises(ValueError, match="float32 or float64"):
        read_xmc(path, dtype=np.int32)


def test_svmlight(make, engine):
    path = make(b"# made by hand\n1,0 1:1 3:2 # first\n\n2:5\n")
    X, Y = read_svmlight(path, one_based=True, engine=engine)
    np.testing.assert_array_equal(X.toarray(), [[1, 0, 2], [0, 0, 0], [0, 5, 0]])
    np.testing.assert_array_equal(Y.toarray(), [[1, 1], [0, 0], [0, 0]])
    X, Y = read_svmlight(path, n_features=9, n_labels=4, engine=engine)
    assert X.shape == (3, 9)
    assert Y.shape == (3, 4)
    assert refusal(read_svmlight, path, n_features=3, engine=engine).line == 2
    assert refusal(read_svmlight, make(b"1 1:1\n1 0:1"), one_based=True, engine=engine).line == 2
    with pytest.raises(ValueError, match="n_labels"):
        read_svmlight(path, n_labels=-1)
    assert [m.shape for m in read_svmlight(make(b""), engine=engine)] == [(0, 0), (0, 0)]


def test_svmlight_as_scikit_learn_reads_it(make, engine):
    from sklearn.datasets import load_svmlight_file

    path = make(b"0,2 1:0.5 3:1\n1 3:-1e-3 7:12345.678 # c\n1,2 2:1\n")
    X, Y = read_svmlight(path, dtype=np.float64, engine=engine)
    theirs, labels = load_svmlight_file(str(path), multilabel=True, zero_based=True)
    np.testing.assert_array_equal(X.toarray(), theirs.toarray())
    assert [tuple(row.nonzero()[0]) for row in Y.toarray()] == labels


def test_missing_file_and_unknown_engine(tmp_path, make):
    with pytest.raises(FileNotFoundError):
        read_xmc(tmp_path / "none")
    with pytest.raises(ValueError, match="engine must be"):
        read_xmc(make(TEXT), engine="c")
