"""What only CuPy has: its sparse matrices, its memory pool, its devices and streams."""

import itertools
import threading
import traceback
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from cuda.launches import MOST_LAUNCHES, count_calls

from swnn_xp import SWNNClassifier, SWNNRanker, write_xmc
from swnn_xp.backends import BACKENDS
from swnn_xp.cli.main import main
from swnn_xp.diagnostics.gpu_check import drawn_matrix, fixed_ranker

cupy = pytest.importorskip("cupy")
if BACKENDS["cupy"].unusable():
    pytest.skip(f"cupy: {BACKENDS['cupy'].unusable()}", allow_module_level=True)
cusp = pytest.importorskip("cupyx.scipy.sparse")

RNG = np.random.default_rng(0)
X = RNG.choice([0.0, 0.0, 1.0, 2.0], size=(30, 8))
Y = (RNG.random((30, 5)) < 0.4).astype(int)
WANTED = SWNNClassifier(5, backend="numpy").fit(X, Y).predict_topk(X)


@pytest.mark.parametrize(
    "kind", [cupy.asarray, cusp.csr_matrix, cusp.csr_array, cusp.coo_matrix, cusp.csc_matrix]
)
def test_every_kind_of_matrix(kind):
    brought = kind(cupy.asarray(X))
    clf = SWNNClassifier(5).fit(brought, cupy.asarray(Y))
    assert clf.backend_ == "cupy"
    labels, scores = clf.predict_topk(brought)
    assert isinstance(labels, cupy.ndarray)
    np.testing.assert_array_equal(labels.get(), WANTED.labels)
    np.testing.assert_array_equal(scores.get(), WANTED.scores)


def test_sparse_results_and_mixed_callers():
    clf = SWNNClassifier(5).fit(cusp.csr_matrix(cupy.asarray(X)), sp.csr_array(Y))
    host = SWNNClassifier(5, backend="numpy").fit(X, Y)
    assert cusp.issparse(clf.predict_proba(cupy.asarray(X)))
    assert isinstance(clf.predict_topk(X).labels, np.ndarray)
    assert isinstance(clf.predict(sp.csr_array(X)), sp.csr_array)
    label = int(WANTED.labels[0, 0])
    assert clf.explain(cupy.asarray(X[0]), label) == host.explain(X[0], label)


def test_repeated_entries_are_summed():
    parts = cupy.asarray([1.0, 2.0, 5.0]), cupy.asarray([1, 1, 0]), cupy.asarray([0, 2, 3])
    clf = SWNNClassifier(1).fit(cusp.csr_matrix(parts, shape=(2, 2)), np.eye(2))
    assert clf.model_.rows().quantised.tolist() == [2**23, 2**23]


def test_clear_errors():
    with pytest.raises(ValueError, match="X is a cupy array and backend 'numba' takes NumPy"):
        SWNNClassifier(backend="numba").fit(cupy.asarray(X), Y)
    with pytest.raises(ValueError, match="device must be the number of a CUDA device below"):
        SWNNClassifier(backend="cupy", device=99).fit(X, Y)
    bad = cupy.asarray(X)
    bad[2, 1] = cupy.nan
    with pytest.raises(ValueError, match="row 2, column 1 is NaN"):
        SWNNClassifier().fit(bad, Y)


@pytest.mark.parametrize("kernels", [True, False])
def test_less_memory_halves_the_block(monkeypatch, kernels):
    from swnn_xp.backends import cupy_

    index_class = cupy_.CupyKernelIndex if kernels else cupy_.CupyProductIndex
    search, sizes = index_class._search_block, []

    def tight(self, block, *args):
        sizes.append(block.n_rows)
        if block.n_rows > 4:
            raise cupy.cuda.memory.OutOfMemoryError(1, 1, 1)
        return search(self, block, *args)

    monkeypatch.setattr(index_class, "_search_block", tight)
    if not kernels:
        monkeypatch.setattr(cupy_, "kernels_fit", lambda rows: False)
    labels = SWNNClassifier(5, backend="cupy").fit(X, Y).predict_topk(X).labels
    np.testing.assert_array_equal(labels, WANTED.labels)
    assert sizes[:2] == [30, 15]


def test_a_full_device_takes_the_product_path(monkeypatch):
    from swnn_xp.backends import cupy_

    (index,) = SWNNClassifier(backend="cupy").fit(X, Y).model_.segments
    assert isinstance(index, cupy_.CupyKernelIndex)
    monkeypatch.setattr(cupy_, "free_memory", lambda: 1000)
    clf = SWNNClassifier(5, backend="cupy").fit(X, Y)
    assert isinstance(clf.model_.segments[0], cupy_.CupyProductIndex)
    np.testing.assert_array_equal(clf.predict_topk(X).labels, WANTED.labels)


def test_the_kernels_keep_within_the_budget():
    from swnn_xp.backends import Options
    from swnn_xp.backends.cupy_ import CupyKernelIndex, search_bytes
    from swnn_xp.backends.device import Search

    budget = 3 * search_bytes(len(X), 5)
    (index,) = SWNNClassifier(backend="cupy").fit(X, Y).model_.segments
    assert isinstance(index, CupyKernelIndex)
    assert index._block_size(Search(5, 1.0, None, Options(memory_budget=budget))) == 3


def tied_rows(n_rows, n_features=300, rng=RNG):
    """Rows with repeats, a few very common features and a long row."""
    dense = rng.random((n_rows // 4, n_features)) < 0.02
    dense[:, :3] |= rng.random((n_rows // 4, 3)) < 0.5
    dense[7] = True
    values = dense * rng.choice([-1.0, 0.5, 1.0, 2.0], size=dense.shape)
    return sp.csr_array(values[rng.integers(n_rows // 4, size=n_rows)])


@pytest.mark.parametrize("n_neighbors", [5, 600])
def test_several_tiles_and_ties(n_neighbors):
    rows = tied_rows(20_000)
    queries = sp.vstack([rows[:5], -rows[5:6], sp.csr_array((1, 300))]).tocsr()
    labels = sp.csr_array(np.eye(20)[np.arange(20_000) % 20])
    clf = SWNNClassifier(n_neighbors, beta=2).fit(cusp.csr_matrix(rows), labels)
    expected = SWNNClassifier(n_neighbors, beta=2, backend="numba").fit(rows, labels)
    ids = clf.kneighbors(queries).ids
    np.testing.assert_array_equal(ids, expected.kneighbors(queries).ids)
    (index,) = clf.model_.segments
    assert index.exhaustive_queries == (0 if n_neighbors == 5 else len(ids))


def test_a_query_with_very_many_features():
    rows = np.ones((3, 4096))
    rows[1, 0] = 0
    clf = SWNNClassifier(2).fit(cupy.asarray(rows), np.eye(3))
    assert clf.kneighbors(np.ones((1, 4096))).ids.tolist() == [[0, 2]]
    assert clf.kneighbors(rows[1:2]).ids.tolist() == [[1, 0]]
    assert clf.model_.segments[0].exhaustive_queries == 1


def with_many_labels(n_labels=4000):
    """Rows with hundreds of labels, and names of all labels."""
    rng = np.random.default_rng(5)
    rows = sp.csr_array(rng.choice([0.0, 0.0, 1.0, 2.0], size=(40, 8)))
    labels = sp.csr_array((rng.random((40, n_labels)) < 0.2).astype(int))
    return rows, labels, sp.csr_array((rng.random((n_labels, 8)) < 0.3).astype(int))


@pytest.mark.parametrize("budget", [10**9, 100_000])
def test_votes_for_more_labels_than_shared_memory_holds(budget):
    rows, labels, names = with_many_labels()
    ranker = partial(SWNNRanker, n_neighbors=9, n_candidates=50, centroids=True)
    for make, more in ((SWNNClassifier, {}), (ranker, {"label_features": names})):
        clf = make(memory_budget=budget, backend="cupy").fit(rows, labels, **more)
        expected = make(backend="numba").fit(rows, labels, **more).predict_topk(rows, k=60)
        for mine, theirs in zip(clf.predict_topk(rows, k=60), expected, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_a_batch_takes_few_launches_and_waits_once():
    pytest.importorskip("cupy_backends._cupy_on_cpu", reason="only this one counts launches")
    launches, waits = count_calls(SWNNClassifier(5, backend="cupy").fit(X, Y), np.tile(X, (137, 1)))
    assert launches <= MOST_LAUNCHES
    assert waits == 1


def test_the_pools_limit_counts():
    from swnn_xp.backends.cupy_ import free_memory

    pool = cupy.get_default_memory_pool()
    before = pool.get_limit()
    pool.set_limit(size=pool.used_bytes() + 10_000_000)
    try:
        assert free_memory() <= 10_000_000
    finally:
        pool.set_limit(size=before)


def test_another_stream():
    with cupy.cuda.Stream(non_blocking=True):
        labels = SWNNClassifier(5).fit(cupy.asarray(X), Y).predict_topk(cupy.asarray(X)).labels
        np.testing.assert_array_equal(labels.get(), WANTED.labels)


@pytest.fixture
def small_batches(monkeypatch):
    """Batches of 4, then 25 queries."""
    from swnn_xp.backends import cupy_

    monkeypatch.setattr(cupy_, "_FIRST_BATCH", 4)
    monkeypatch.setattr(cupy_, "_BATCH", 25)


ROWS = tied_rows(400, rng=np.random.default_rng(1))
TAGS = sp.csr_array(np.eye(20)[np.arange(400) % 20])


def n_batches(n_queries):
    return 1 + -(-(n_queries - 4) // 25)


def test_two_batches_are_in_work_at_the_same_time(monkeypatch, small_batches):
    from swnn_xp.backends.cupy_ import CupyKernelIndex

    search, streams, both = CupyKernelIndex._search_block, [], threading.Barrier(2)

    def meeting(self, block, *args):
        streams.append(cupy.cuda.get_current_stream().ptr)
        if len(streams) > 1:  # the first has the device to itself
            both.wait(timeout=60)
        return search(self, block, *args)

    clf = SWNNClassifier(5, backend="cupy").fit(ROWS, TAGS)
    monkeypatch.setattr(CupyKernelIndex, "_search_block", meeting)
    queries = ROWS[: 4 + 6 * 25]
    with cupy.cuda.Stream(non_blocking=True) as mine:
        found = clf.predict_topk(queries)
    wanted = SWNNClassifier(5).fit(ROWS, TAGS).predict_topk(queries)
    np.testing.assert_array_equal(found.labels, wanted.labels)
    np.testing.assert_array_equal(found.scores, wanted.scores)
    assert streams[0] == mine.ptr
    assert len(set(streams)) == 3
    assert all(streams.count(lane) == 3 for lane in set(streams[1:]))


@pytest.fixture
def waits(monkeypatch):
    """Where the host waited for the device: the names of the functions."""
    from cupy._core import syncdetect

    seen = []

    def note():
        seen.append([frame.name for frame in traceback.extract_stack(limit=4)])

    monkeypatch.setattr(syncdetect, "_declare_synchronize", note)
    return seen


@pytest.mark.parametrize("method", ["predict_topk", "topk_probabilities", "kneighbors"])
@pytest.mark.parametrize("kind", ["published", "ranked"])
def test_the_host_reads_one_number_of_each_batch(small_batches, waits, kind, method):
    clf = SWNNClassifier(5, backend="cupy").fit(ROWS, TAGS)
    if kind == "ranked":
        clf = fixed_ranker(clf, drawn_matrix(4, 20, 300, 20))
    answer = getattr(clf, method)
    answer(ROWS)  # brings labels and models to the device
    waits.clear()
    answer(ROWS)
    scalars = [names for names in waits if "as_input_kind" not in names]
    assert all("_search_tiles" in names for names in scalars)
    assert len(scalars) == n_batches(400)
    # Copies that do not wait, but are declared; then one wait for all of them.
    arrays = 3 if method == "topk_probabilities" else 2
    assert len(waits) - len(scalars) == arrays * n_batches(400)


def test_rows_on_the_device_are_not_copied(small_batches, waits):
    clf, on_device = SWNNClassifier(5, backend="cupy").fit(ROWS, TAGS), cusp.csr_matrix(ROWS)
    clf.predict_topk(on_device)
    waits.clear()
    labels = clf.predict_topk(on_device).labels
    assert len(waits) == 4  # number of entries, are they canonical, longest row, queries left
    wanted = SWNNClassifier(5).fit(ROWS, TAGS).predict_topk(ROWS).labels
    np.testing.assert_array_equal(labels.get(), wanted)


def test_memory_is_taken_once(monkeypatch, small_batches):
    from swnn_xp.backends.cupy_ import CupyPlacement

    pool, taken, download = cupy.get_default_memory_pool(), [], CupyPlacement.as_input_kind

    def noted(self, *args):
        taken.append(pool.total_bytes())
        return download(self, *args)

    clf = SWNNClassifier(5, backend="cupy").fit(ROWS, TAGS)
    monkeypatch.setattr(CupyPlacement, "as_input_kind", noted)
    pool.free_all_blocks()
    queries = ROWS[np.full(400, 20)]  # all batches but the first and the last are alike
    for _ in range(2):
        clf.predict_topk(queries)
    assert len(taken) == 2 * (n_batches(400) + 1)  # once more for the whole answer
    assert taken[0] < taken[2]
    assert set(taken[3:]) == {taken[3]}


@pytest.mark.parametrize("where", ["rows", "rank_found"])
def test_a_batch_that_does_not_fit_is_halved(monkeypatch, small_batches, where):
    """Whether its upload or its votes do not fit; what the other batches found is kept."""
    from swnn_xp.backends import cupy_

    owner = cupy_.CupyPlacement if where == "rows" else cupy_.CupyKernelIndex
    work, done, failed = getattr(owner, where), [], []

    def tight(self, given, *args):
        size = given.n_rows if where == "rows" else given.ids.shape[0]
        if size > 7:
            failed.append(size)
            raise cupy.cuda.memory.OutOfMemoryError(1, 1, 1)
        done.append(size)
        return work(self, given, *args)

    clf = SWNNClassifier(5, backend="cupy").fit(ROWS, TAGS)
    monkeypatch.setattr(owner, where, tight)
    found = clf.predict_topk(ROWS)
    wanted = SWNNClassifier(5).fit(ROWS, TAGS).predict_topk(ROWS)
    np.testing.assert_array_equal(found.labels, wanted.labels)
    np.testing.assert_array_equal(found.scores, wanted.scores)
    assert sum(done) == 400  # nothing is lost, nothing done twice
    assert {25, 12} <= set(failed)
    assert len(failed) <= 4  # two at a time; later batches start with what fitted


def test_a_pool_without_room_halves_the_block(monkeypatch):
    """CuPy's own error, at its own limit, which the estimate of free memory does not know."""
    from swnn_xp.backends import cupy_

    clf, pool = SWNNClassifier(5, backend="cupy").fit(ROWS, TAGS), cupy.get_default_memory_pool()
    wanted, released = SWNNClassifier(5).fit(ROWS, TAGS).predict_topk(ROWS).labels, []
    clf.predict_topk(ROWS[:4])
    release = cupy_.CupyPlacement.release

    def noted(self):
        released.append(1)
        release(self)

    monkeypatch.setattr(cupy_, "free_memory", lambda: 10**12)
    monkeypatch.setattr(cupy_.CupyPlacement, "release", noted)
    pool.free_all_blocks()
    before = pool.get_limit()
    pool.set_limit(size=pool.used_bytes() + 2_000_000)  # 400 queries need about four times that
    try:
        np.testing.assert_array_equal(clf.predict_topk(ROWS).labels, wanted)
    finally:
        pool.set_limit(size=before)
    assert released


def test_training_searches_in_batches(small_batches):
    """Half of the training is the search for the neighbours of all rows."""
    ours = SWNNRanker(15, backend="cupy").fit(ROWS, TAGS)
    wanted = SWNNRanker(15, backend="numba").fit(ROWS, TAGS).topk_probabilities(ROWS)
    for mine, its in zip(ours.topk_probabilities(ROWS), wanted, strict=True):
        np.testing.assert_array_equal(mine, its)


def test_files_are_read_and_written_while_the_device_works(monkeypatch, tmp_path):
    """The third block is on the device until the first is written and the fourth is read."""
    from swnn_xp.backends.cupy_ import CupyKernelIndex
    from swnn_xp.bulk import predict_file
    from swnn_xp.bulk.sources import RepositoryRows

    clf = SWNNClassifier(5).fit(ROWS, TAGS)
    clf.save(tmp_path / "model")
    write_xmc(tmp_path / "new.txt", ROWS, TAGS)
    command = ["predict", str(tmp_path / "model"), str(tmp_path / "new.txt"), "--rows", "25", "-o"]
    assert main([*command, str(tmp_path / "wanted.tsv")]) == 0

    search, append, blocks = (
        CupyKernelIndex._search_block, predict_file.ResumableOutput.append, RepositoryRows.blocks
    )  # fmt: skip
    calls, written, read = itertools.count(1), threading.Event(), threading.Event()

    def searching(self, *args):
        if next(calls) == 3:
            assert written.wait(timeout=60)
            assert read.wait(timeout=60)
        return search(self, *args)

    def appending(self, *args):
        append(self, *args)
        written.set()

    def reading(self, *args):
        for number, block in enumerate(blocks(self, *args), 1):
            if number == 4:
                read.set()
            yield block

    monkeypatch.setattr(CupyKernelIndex, "_search_block", searching)
    monkeypatch.setattr(predict_file.ResumableOutput, "append", appending)
    monkeypatch.setattr(RepositoryRows, "blocks", reading)
    assert main([*command, str(tmp_path / "ours.tsv"), "--backend", "cupy"]) == 0
    assert next(calls) > 16
    assert (tmp_path / "ours.tsv").read_bytes() == (tmp_path / "wanted.tsv").read_bytes()


def test_blocks_of_several_batches(small_batches):
    """What is overlapped may itself be more than a batch."""
    clf = SWNNClassifier(5, backend="cupy").fit(ROWS, TAGS)
    blocks = [ROWS[:60], ROWS[60:150], ROWS[150:170], ROWS[170:]]
    found = list(clf.model_.placement.overlapped(clf.predict_topk, blocks))
    wanted = SWNNClassifier(5).fit(ROWS, TAGS).predict_topk(ROWS)
    np.testing.assert_array_equal(np.concatenate([best.labels for best in found]), wanted.labels)


def test_an_error_in_a_batch_is_raised_and_ends_the_others(monkeypatch, small_batches):
    from swnn_xp.backends.cupy_ import CupyKernelIndex

    search, calls = CupyKernelIndex._search_block, itertools.count(1)

    def failing(self, *args):
        if next(calls) == 4:
            raise RuntimeError("the fourth")
        return search(self, *args)

    clf = SWNNClassifier(5, backend="cupy").fit(ROWS, TAGS)
    monkeypatch.setattr(CupyKernelIndex, "_search_block", failing)
    with pytest.raises(RuntimeError, match="the fourth"):
        clf.predict_topk(ROWS)
    assert next(calls) < 8  # of 17
