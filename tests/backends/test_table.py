"""The capability table: what is usable, how "auto" chooses, and what is said about the rest."""

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import SWNNClassifier
from swnn_xp.backends import BACKENDS, resolve
from swnn_xp.cli.main import main
from swnn_xp.rows.input_kind import host_matrix, input_kind


def test_auto_stays_on_the_cpu_for_host_data():
    for X in ([[1]], np.eye(2), sp.eye_array(2)):
        assert resolve("auto", X).name == "numba"


def test_auto_looks_at_where_a_type_comes_from():
    stranger = type("ndarray", (), {"__module__": "cupy._core.core"})()
    assert input_kind(stranger) == "cupy"
    assert resolve("auto", stranger).name == "cupy"


def test_auto_keeps_other_namespaces():
    xs = pytest.importorskip("array_api_strict")
    X = xs.asarray(np.eye(3))
    clf = SWNNClassifier(n_neighbors=1).fit(X, np.eye(3))
    assert clf.backend_ == "array-api"
    assert type(clf.kneighbors(X).ids) is type(X)
    for name in ("numba", "numpy"):
        with pytest.raises(ValueError, match=f"backend '{name}' takes NumPy and SciPy; backend='a"):
            SWNNClassifier(backend=name).fit(X, np.eye(3))
    with pytest.raises(ValueError, match="backend 'numba' takes NumPy and SciPy"):
        SWNNClassifier().fit(np.eye(3), np.eye(3)).kneighbors(X)


class NarrowNamespace:
    """NumPy as JAX is by default: what is to be 64 bits wide comes out with 32, and a warning."""

    __name__ = "narrow"

    def __init__(self, narrow):
        self._narrow = narrow

    def __getattr__(self, name):
        return getattr(np, name)

    def asarray(self, values, dtype=None, device=None):
        if dtype is self._narrow:
            warnings.warn("truncated to 32 bits", stacklevel=2)
            dtype = {np.float64: np.float32, np.int64: np.int32}[dtype]
        return np.asarray(values, dtype=dtype)


class NarrowArray:
    """A matrix of that namespace."""

    ndim, shape, device = 2, (2, 2), "cpu"

    def __init__(self, narrow):
        self._namespace = NarrowNamespace(narrow)

    def __array_namespace__(self, api_version=None):
        return self._namespace

    def __array__(self, *args, **kwargs):
        raise AssertionError("copied to the host in secret")


@pytest.mark.parametrize("narrow", [np.float64, np.int64])
@pytest.mark.parametrize("backend", ["auto", "array-api"])
def test_a_namespace_without_64_bits_is_refused(backend, narrow):
    message = f"narrow has no {narrow.__name__} on device cpu, which exact sums need"
    with pytest.raises(ValueError, match=message) as caught:
        SWNNClassifier(backend=backend).fit(NarrowArray(narrow), np.eye(2))
    assert "\n" not in str(caught.value)


def test_a_device_without_64_bits_is_refused():
    xs = pytest.importorskip("array_api_strict")
    X = xs.asarray(np.eye(3))
    try:
        weak = xs.Device("no_float64")
    except ValueError:
        pytest.skip("this array_api_strict has no device without float64")
    clf = SWNNClassifier().fit(X, np.eye(3)).set_params(device=weak)
    with pytest.raises(ValueError, match="array_api_strict has no float64 on device"):
        clf.kneighbors(X)


@pytest.mark.parametrize("device", ["nowhere", "CPU_DEVICE", np.zeros(2), 7])
def test_a_device_that_the_namespace_lacks_is_named(device):
    xs = pytest.importorskip("array_api_strict")
    X = xs.asarray(np.eye(3))
    clf = SWNNClassifier().fit(X, np.eye(3))
    for ask in (
        lambda: clf.set_params(device=device).kneighbors(X),
        lambda: SWNNClassifier(device=device).fit(X, np.eye(3)),
    ):
        with pytest.raises(ValueError, match="^no device .* in array_api_strict$"):
            ask()


def test_a_torch_device_counts_by_what_it_is_not_by_its_name():
    """torch calls its devices by name; its arrays have device objects."""
    torch = pytest.importorskip("torch")
    X = torch.eye(3)
    for backend in ("torch", "array-api"):
        clf = SWNNClassifier(1, backend=backend, device="cpu").fit(X, np.eye(3))
        model = clf.model_
        assert clf.kneighbors(X).ids[:, 0].tolist() == [0, 1, 2]
        assert clf.model_ is model, "it is there already"


def test_a_model_moved_away_and_back_is_in_its_namespace_again():
    xs = pytest.importorskip("array_api_strict")
    X = xs.asarray(np.eye(3))
    clf = SWNNClassifier(n_neighbors=1).fit(X, np.eye(3))
    for backend in ("numpy", "numba"):
        assert clf.set_params(backend=backend).kneighbors(np.eye(3)).ids[:, 0].tolist() == [0, 1, 2]
    clf.set_params(backend="array-api")
    assert type(clf.kneighbors(X).ids) is type(X)


def test_another_namespace_is_named_whatever_its_device():
    xs = pytest.importorskip("array_api_strict")
    clf = SWNNClassifier(backend="array-api").fit(np.eye(3), np.eye(3))
    message = "X is of namespace array_api_strict, but the model is in array_api_compat.numpy"
    with pytest.raises(ValueError, match=message):
        clf.kneighbors(xs.asarray(np.eye(3)))


def test_the_portable_backend_moves_between_devices():
    xs = pytest.importorskip("array_api_strict")
    first, second = (xs.asarray(np.eye(3), device=xs.Device(f"device{i}")) for i in (1, 2))
    clf = SWNNClassifier(n_neighbors=1).fit(first, np.eye(3)).set_params(device=second.device)
    assert clf.kneighbors(second).ids.device == second.device
    with pytest.raises(ValueError, match="X is on device"):
        clf.kneighbors(first)


def test_auto_takes_numpy_where_numba_can_not_be_used(monkeypatch):
    from swnn_xp import backends
    from swnn_xp.backends.numba_ import NumbaIndex

    monkeypatch.setattr(NumbaIndex, "unusable", lambda: "can't compile here")
    backends._warn_once.cache_clear()
    with pytest.warns(RuntimeWarning, match="backend 'numba' can't compile here; using 'numpy'"):
        clf = SWNNClassifier().fit(np.eye(2), np.eye(2))
    assert clf.backend_ == "numpy"
    SWNNClassifier().fit(np.eye(2), np.eye(2))  # one warning is enough
    with pytest.raises(ImportError, match="backend 'numba' can't compile here"):
        SWNNClassifier(backend="numba").fit(np.eye(2), np.eye(2))
    backends._warn_once.cache_clear()


def test_a_broken_library_is_a_reason_and_no_crash(monkeypatch):
    monkeypatch.setitem(sys.modules, "swnn_xp.backends.numba_", None)
    assert "can't be imported" in BACKENDS["numba"].unusable()


def test_nothing_is_imported_that_is_not_needed():
    code = (
        "import sys, numpy as np; from swnn_xp import SWNNClassifier;"
        "SWNNClassifier(backend='numpy').fit(np.eye(2), np.eye(2)).predict_topk(np.eye(2));"
        "sys.exit(any(m in sys.modules for m in ('cupy', 'torch', 'numba')))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_missing_library_is_named_with_what_to_install(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for name in ("cupy", "torch"):
        with pytest.raises(ImportError, match=f"backend '{name}' needs {name}: pip install") as e:
            SWNNClassifier(backend=name).fit(np.eye(2), np.eye(2))
        assert "\n" not in str(e.value)
    assert main(["gpu-check", "--backend", "cupy"]) == 2
    assert "pip install 'swnn-xp[cupy12]'" in capsys.readouterr().err


def test_the_command_lists_every_backend(capsys):
    assert main(["backends"]) == 0
    out = capsys.readouterr().out
    for name, backend in BACKENDS.items():
        assert f"\n{name}" in f"\n{out}"
        assert backend.summary in out
    assert "numba      usable" in out


def test_unknown_names_and_devices():
    with pytest.raises(ValueError, match="backend must be one of auto, numba"):
        SWNNClassifier(backend="abacus").fit(np.eye(2), np.eye(2))
    for name in ("numpy", "numba"):
        with pytest.raises(ValueError, match="runs on the CPU, not on device 'cuda:0'"):
            SWNNClassifier(backend=name, device="cuda:0").fit(np.eye(2), np.eye(2))
    with pytest.raises(ValueError, match="is on the host: bring it to device"):
        SWNNClassifier(backend="array-api", device="gpu").fit(np.eye(2), np.eye(2))


def test_portable_backend_keeps_namespaces_and_devices_apart():
    xs = pytest.importorskip("array_api_strict")
    X = xs.asarray(np.eye(3), device=xs.Device("device1"))
    clf = SWNNClassifier(backend="array-api").fit(X, np.eye(3))
    assert isinstance(clf.kneighbors(np.eye(3)).ids, np.ndarray)  # from the host: back to the host
    with pytest.raises(ValueError, match="X is on device"):
        clf.kneighbors(xs.asarray(np.eye(3)))
    plain = SWNNClassifier(backend="array-api").fit(np.eye(3), np.eye(3))
    with pytest.raises(ValueError, match="the model is in array_api_compat.numpy"):
        plain.kneighbors(X)


def test_rows_with_repeats_zeros_and_extremes_are_the_same_everywhere():
    from swnn_xp.rows import on_device as portable
    from swnn_xp.rows.canonical import canonical_rows
    from swnn_xp.rows.quantise import quantise_rows

    rng = np.random.default_rng(5)
    for seed in range(30):
        n, d, m = rng.integers(1, 20), rng.integers(1, 9), rng.integers(0, 90)
        at_row = np.sort(rng.integers(0, n, m))
        values = rng.choice([0, 1, -1, 0.5, 1e300, 1e-300, rng.normal()], m)
        indptr = np.searchsorted(at_row, np.arange(n + 1))
        X = sp.csr_array((values, rng.integers(0, d, m), indptr), shape=(n, d))
        entries = portable.compressed_entries(X.indptr, X.indices, X.data, X.shape, "X")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(portable, "_CHUNK", 1 + seed)
            found = portable.quantise_on_device(portable.canonical_entries(entries, "X"))
        for ours, theirs in zip(found[:3], quantise_rows(canonical_rows(X))[:3], strict=True):
            np.testing.assert_array_equal(ours, theirs)
            assert ours.dtype == theirs.dtype


@pytest.mark.parametrize(("bad", "said"), [(np.nan, "NaN"), (np.inf, "inf")])
def test_portable_errors_are_those_of_the_host(bad, said):
    from swnn_xp.rows.on_device import canonical_entries, compressed_entries, dense_entries

    X = np.eye(3)
    X[1, 2] = bad
    with pytest.raises(ValueError, match=f"X: row 1, column 2 is {said}"):
        canonical_entries(dense_entries(X, "X"), "X")
    parts = np.asarray([0, 1]), np.asarray([7]), np.asarray([1.0])
    entries = compressed_entries(*parts, (1, 3), "X")
    with pytest.raises(ValueError, match="row 0 has column 7, outside 0..2"):
        canonical_entries(entries, "X")
    with pytest.raises(ValueError, match="must be 2-D"):
        dense_entries(np.ones(3), "X")
    with pytest.raises(ValueError, match="Complex data not supported"):
        dense_entries(np.ones((1, 1), complex), "X")


def test_host_matrix_leaves_host_data_alone():
    X = sp.eye_array(2)
    assert host_matrix(X) is X


def test_the_docs_table_is_the_code_table():
    script = Path(__file__).parents[2] / "scripts" / "backends_table.py"
    done = subprocess.run([sys.executable, script, "--check"])
    assert done.returncode == 0, "run scripts/backends_table.py"
