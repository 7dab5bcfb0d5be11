"""Any kind of matrix comes in, canonical rows come out, and the caller's data stays as it was."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from swnn_xp.rows.canonical import canonical_rows, label_rows, quantise_rows

DENSE = np.asarray([[0, 2, 0, -3], [0, 0, 0, 0], [1, 0, 5, 0]])
FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]


def as_lists(rows):
    return rows.indptr.tolist(), rows.indices.tolist(), rows.values.tolist(), rows.n_features


EXPECTED = ([0, 2, 2, 4], [1, 3, 0, 2], [2.0, -3.0, 1.0, 5.0], 4)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.float32, np.float64])
def test_every_scipy_kind(format, kind, dtype):
    dense = np.abs(DENSE) if dtype == np.uint8 else DENSE
    make = getattr(sp, f"{format}_{kind}")
    X = make(dense.astype(dtype))
    before = X.copy()
    expected = list(EXPECTED)
    expected[2] = [abs(v) if dtype == np.uint8 else v for v in EXPECTED[2]]
    assert as_lists(canonical_rows(X)) == tuple(expected)
    assert (X != before).nnz == 0


@pytest.mark.parametrize(
    "X",
    [
        DENSE,
        DENSE.tolist(),
        np.asfortranarray(DENSE),
        DENSE.astype(np.longdouble),
    ],
)
def test_dense(X):
    assert as_lists(canonical_rows(X)) == EXPECTED


def test_booleans():
    assert canonical_rows(DENSE != 0).values.tolist() == [1.0] * 4


def test_unsorted_repeated_and_zero_entries_in_wide_indices():
    indices = np.asarray([3, 1, 3, 0, 2, 2, 0], np.int64)
    data = np.asarray([-1, 2, -2, 7, 3, 2, 1], np.int16)
    X = sp.csr_array((data, indices, np.asarray([0, 3, 4, 7], np.int64)), shape=(3, 4))
    X.data[3] = 0
    kept = [X.data.copy(), X.indices.copy(), X.indptr.copy()]
    assert as_lists(canonical_rows(X)) == EXPECTED
    for now, then in zip([X.data, X.indices, X.indptr], kept, strict=True):
        np.testing.assert_array_equal(now, then)


def test_repeats_that_cancel_are_no_support():
    X = sp.coo_array(([1.0, -1.0, 2.0], ([0, 0, 0], [1, 1, 2])), shape=(1, 3))
    assert canonical_rows(X).indices.tolist() == [2]


def test_narrow_integers_do_not_overflow_when_summed():
    X = sp.coo_array((np.asarray([100, 100], np.int8), ([0, 0], [0, 0])), shape=(1, 1))
    assert canonical_rows(X).values.tolist() == [200.0]


def test_room_behind_the_last_row_is_ignored():
    X = sp.csr_array(([1.0, 2.0, np.nan], [0, 1, 0], [0, 1, 2]), shape=(2, 2))
    assert as_lists(canonical_rows(X)) == ([0, 1, 2], [0, 1], [1.0, 2.0], 2)


def test_stale_flags_of_scipy_are_not_trusted():
    X = sp.csr_array(([1.0, 2.0], [1, 0], [0, 2]), shape=(1, 2))
    X.has_sorted_indices = X.has_canonical_format = True
    assert canonical_rows(X).indices.tolist() == [0, 1]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.coo_matrix])
def test_non_finite_values_name_the_place(bad, make):
    X = np.eye(4)
    X[2, 1] = bad
    with pytest.raises(ValueError, match=rf"X: row 2, column 1 is (?i:{bad})"):
        canonical_rows(make(X))


def test_repeats_that_overflow_are_refused():
    X = sp.coo_array(([1e308, 1e308], ([1, 1], [0, 0])), shape=(2, 1))
    with pytest.raises(ValueError, match="row 1, column 0 is inf"):
        canonical_rows(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([1.0, 2.0], "must be 2-D"),
        (np.zeros((1, 2, 3)), "must be 2-D"),
        (sp.coo_array([1.0, 2.0]), "must be 2-D"),
        (np.zeros((2, 2), complex), "Complex data not supported"),
        ([["a", "b"]], "must be real"),
    ],
)
def test_what_is_no_matrix_of_numbers(X, message):
    with pytest.raises(ValueError, match=message):
        canonical_rows(X)


def test_column_outside_the_matrix():
    X = sp.csr_array(([1.0, 1.0], [0, 1], [0, 1, 2]), shape=(2, 2))
    X.indices[1] = 7
    with pytest.raises(ValueError, match="row 1 has column 7, outside 0..1"):
        canonical_rows(X)


def test_labels_count_once():
    Y = sp.coo_array(([1, 1, 1, 0], ([0, 0, 1, 1], [2, 2, 0, 1])), shape=(2, 3))
    rows = label_rows(Y)
    assert (rows.indptr.tolist(), rows.indices.tolist(), rows.n_labels) == ([0, 1, 2], [2, 0], 3)


def test_negative_labels_are_refused():
    with pytest.raises(ValueError, match="y: row 0, column 1 is -1"):
        label_rows([[1, -1]])


def reference_units(row):
    scaled = np.rint(row / np.abs(row).max() * 2.0**22)
    total = sum(int(v) ** 2 for v in scaled)
    return np.rint(scaled / np.sqrt(np.float64(total)) * 2.0**23).astype(int).tolist()


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.floats(allow_nan=False, allow_infinity=False).filter(lambda v: v != 0),
        min_size=1,
        max_size=30,
    )
)
def test_units_follow_the_definition(values):
    row = np.asarray([values])
    units = quantise_rows(canonical_rows(row)).quantised
    assert units.tolist() == reference_units(row[0])
    assert np.abs(units).max() <= 2**23


def test_units_of_rows_too_long_for_one_word():
    row = np.ones((1, 1 << 20))
    row[0, ::2] = 0.3
    assert quantise_rows(canonical_rows(row)).quantised.tolist() == reference_units(row[0])


def test_units_do_not_depend_on_chunks(monkeypatch):
    X = sp.random_array((50, 30), density=0.3, rng=np.random.default_rng(0), format="csr")
    X = sp.vstack([X, sp.csr_array((3, 30)), X], format="csr")
    whole = quantise_rows(canonical_rows(X)).quantised
    for chunk in (1, 7, 64):
        monkeypatch.setattr("swnn_xp.rows.canonical._CHUNK", chunk)
        np.testing.assert_array_equal(quantise_rows(canonical_rows(X)).quantised, whole)
