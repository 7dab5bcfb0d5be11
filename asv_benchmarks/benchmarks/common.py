"""What the suites share: cached data, the backends as a parameter, and waiting for a GPU."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import itertools
import time
import warnings

import numpy as np

from swnn_xp import SWNNClassifier
from swnn_xp.backends import BACKENDS

from . import data, reference

LARGE_BATCH = 256


def measured_backends(batch=1):
    """Backends that get a figure on this machine: only these are in a dashboard's legend."""
    return [name for name in BACKENDS if why_not(name, batch) is None]


def why_not(backend, batch=1):
    """Say why a backend is not measured here, or None."""
    if reason := BACKENDS[backend].unusable():
        return reason
    if backend == "cupy" and is_emulated():
        return "an emulated device says nothing about speed"
    if batch > 1 and getattr(BACKENDS[backend], "reference", False):
        return f"{backend} is made to be read, not for batches"
    return None


@functools.cache
def is_emulated():
    """Whether CuPy's kernels run on the CPU here."""
    try:
        return importlib.util.find_spec("cupy_backends._cupy_on_cpu") is not None
    except ImportError:
        return False


N_AGREEMENT = 64  # queries whose exact neighbours are kept
N_NEIGHBORS = 25
RANKED = "ranked"  # folder of a trained ranker


class Suite:
    """Data made once for all suites, and repetitions that keep a whole run under five minutes.

    asv runs `setup` before every single call that it times. So setups make things once, and what is
    timed takes a millisecond at least: a call is a sample.
    """

    rounds = 1
    repeat = (4, 20, 0.8)
    warmup_time = 0  # the setups warm up
    timeout = 600
    timer = time.process_time  # other processes of a shared machine do not count

    def setup_cache(self):
        # One function for all suites: asv then runs it once. Only arrays and text are kept.
        X, Y = data.make()
        train, test = slice(0, data.N_TRAIN), slice(data.N_TRAIN, None)
        parts = {"X_train": X[train], "y_train": Y[train], "X_test": X[test], "y_test": Y[test]}
        for name, matrix in parts.items():
            data.save(name, matrix)
        ids, sims = reference.neighbours(X[train], X[test][:N_AGREEMENT], N_NEIGHBORS)
        np.save("reference_ids.npy", ids)
        np.save("reference_sims.npy", sims)
        data.write_text("rows.txt", X[:2000], Y[:2000])
        fit(next(iter(BACKENDS))).save("model")
        save_ranker(X[train], Y[train])


class BackendSuite(Suite):
    """A suite with the backends as its parameter: `prepare` makes what is timed, once.

    Its batch is how many rows are asked at once.
    """

    params = (measured_backends(),)
    param_names = ("backend",)
    batch = 1
    is_ready = False

    def setup(self, backend):
        require(backend, self.batch)
        if not self.is_ready:
            self.timer = clock(backend)
            self.prepare(backend)
            self.is_ready = True

    def prepare(self, backend):
        raise NotImplementedError


class OneByOne(BackendSuite):
    """Some rows, one after the other: divide by their number for the time of one."""

    n_rows = 32

    def prepare_rows(self, clf):
        rows = queries(self.n_rows)
        self.clf, self.rows = clf, [rows[[i]] for i in range(self.n_rows)]

    def ask(self, backend):
        for row in self.rows:
            self.clf.predict_topk(row)
        wait(backend)


class OneBySession(Suite):
    """The rows of `OneByOne` by a session, which only the numba backend has."""

    def prepare_session(self, clf):
        rows = queries(OneByOne.n_rows)
        cuts = itertools.pairwise(rows.indptr)
        self.rows = [(rows.indices[a:b], rows.data[a:b]) for a, b in cuts]
        self.session = clf.session()
        self.ask()

    def ask(self):
        for row in self.rows:
            self.session.predict_one(*row)


class ManyAtOnce(BackendSuite):
    """256 rows in one call; the figure is the time of the call."""

    params = (measured_backends(LARGE_BATCH),)
    batch = LARGE_BATCH

    def prepare_rows(self, clf):
        self.clf, self.rows = clf, queries(self.batch)

    def ask(self, backend):
        self.clf.predict_topk(self.rows)
        wait(backend)


class BatchSizes(Suite):
    """One call for 256, 4,096 or 65,536 rows that are on the host or on the backend's device.

    The figure is the time of the call. The test rows are asked again and again, in turn.
    """

    params = (measured_backends(LARGE_BATCH), (256, 4096, 65_536), ("host", "device"))
    param_names = ("backend", "rows", "given")
    repeat = (1, 20, 0.8)
    is_ready = False

    def model(self, backend):
        raise NotImplementedError

    def setup(self, backend, rows, given):
        require(backend, rows)
        if rows > SLOW_BATCH and backend != "numba" and not on_gpu(backend):
            raise NotImplementedError("takes minutes")
        if not self.is_ready:
            self.timer, self.clf = clock(backend), self.model(backend)
            asked = many_queries(rows)
            self.rows = asked if given == "host" else on_device(backend, asked)
            self.ask(backend)
            self.is_ready = True

    def ask(self, backend):
        self.clf.predict_topk(self.rows)
        wait(backend)


SLOW_BATCH = 4096  # the largest for backends that need milliseconds per row


def on_device(backend, rows):
    """The rows as a matrix of the backend's library; n/a where that takes NumPy and SciPy only."""
    if backend == "cupy":
        return importlib.import_module("cupyx.scipy.sparse").csr_matrix(rows)
    if backend == "torch":
        torch = importlib.import_module("torch")
        parts = (torch.as_tensor(part) for part in (rows.indptr, rows.indices, rows.data))
        where = {"size": rows.shape, "device": device_of(backend)}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
            return torch.sparse_csr_tensor(*parts, **where, check_invariants=True)
    raise NotImplementedError(f"{backend} takes rows from the host")


def save_ranker(X, Y):
    """Train a ranker once for all suites; revisions that have none do without."""
    try:
        from swnn_xp import SWNNRanker
    except ImportError:
        return
    SWNNRanker(n_jobs=1).fit(X, Y).save(RANKED)


@functools.cache
def fit(backend, **params):
    """A fitted classifier of one thread; NotImplementedError (n/a in asv) if it can't run here."""
    require(backend)
    params = {"n_neighbors": N_NEIGHBORS, "alpha": 1.0, "beta": 1.0, "n_jobs": 1} | params
    if device := device_of(backend):
        params["device"] = device
    return SWNNClassifier(backend=backend, **params).fit(data.load("X_train"), data.load("y_train"))


def require(backend, batch=1):
    """Leave a benchmark out where it makes no sense."""
    if reason := why_not(backend, batch):
        raise NotImplementedError(reason)


def queries(n):
    """The first test rows."""
    return data.load("X_test")[:n]


def many_queries(n):
    """The test rows again and again."""
    rows = data.load("X_test")
    return rows[np.arange(n) % rows.shape[0]]


def device_of(backend):
    """The device to name: torch computes on the CPU unless told otherwise."""
    return "cuda" if backend == "torch" and on_gpu(backend) else None


@functools.cache
def on_gpu(backend):
    """Whether the backend computes on a GPU here."""
    devices = BACKENDS[backend].devices
    if "cpu" in devices and "cuda" in devices:
        return importlib.import_module(BACKENDS[backend].needs[0]).cuda.is_available()
    return "cuda" in devices


def clock(backend):
    """CPU time on a CPU; a GPU's work only shows on the wall."""
    return time.perf_counter if on_gpu(backend) else time.process_time


def wait(backend):
    """Wait until the device has finished: its calls return before their work is done."""
    if not on_gpu(backend):
        return
    device = importlib.import_module(BACKENDS[backend].needs[0]).cuda
    (device.get_current_stream() if backend == "cupy" else device).synchronize()
