"""A fixed problem whose answer is known to the last bit, to check and time a device.

The hashes below were recorded on a CPU. Since all backends give the same bits, any other hash on
any device is an error. The ranker's integers are fixed, not trained, so that it ranks alike with
every version.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from swnn_xp.classifier import SWNNClassifier
from swnn_xp.loading import AnyModel

if TYPE_CHECKING:
    from swnn_xp.ranker import SWNNRanker


_CUTS = 5, 25, 75
_CANDIDATES = 40
_STEP = 2**38  # of a score of 1


def fixed_ranker(clf: SWNNClassifier, weights: sp.csr_array) -> SWNNRanker:
    """Put a ranker on top of a fitted classifier.

    Parameters
    ----------
    clf : SWNNClassifier
        Its rows and labels are shared.
    weights : sparse matrix (n_labels, n_features)
        Small whole numbers. Every third label has no model.
    """
    # Imported here: they need numba, which the classifier's check does not.
    from swnn_kernels.learn.candidates import N_BINS, Selection
    from swnn_kernels.learn.scorer import Ranker
    from swnn_xp.learn.ranking import CandidateRanking
    from swnn_xp.learn.settings import DescentParams
    from swnn_xp.ranker import SWNNRanker

    label, bins = np.arange(weights.shape[0]), np.arange(2 * len(_CUTS) * N_BINS)
    ranker = Ranker(
        indptr=weights.indptr.astype(np.int64),
        features=weights.indices.astype(np.int32),
        weights=((weights.data - 2.5) * 1000).astype(np.int16),
        biases=(label % 7 - 3) * (_STEP // 16),
        modelled=(label % 3 != 0).astype(np.uint8),
        tables=(bins % N_BINS) // 64 * (_STEP // 64),
        shift=1,
    )
    made = SWNNRanker(_CUTS[-1], backend=clf.backend, device=clf.device)
    selection = Selection(_CUTS, _CANDIDATES, 1.0)
    n_features, params = clf.n_features_in_, made.trained_params()
    descent = DescentParams(1.0, 1.0, 0.0, 0.0)
    ranking = CandidateRanking(ranker, selection, 1.0, n_features, 1.0, descent, params=params)
    return made.with_model(replace(clf.current_model(), ranking=ranking))


K = 5
SETTINGS = ((25, 1, 1), (7, 2, 0), (75, 0, 2))  # n_neighbors, alpha, beta


class Size(NamedTuple):
    """Shape of a problem and the recorded hashes of its answers."""

    rows: int
    features: int
    row_length: int
    labels: int
    queries: int
    golden: str
    golden_ranked: str
    """Of labels ranked by label models."""


SIZES = {
    "small": Size(
        600, 400, 12, 50, 24, "e0048da33f6a2b9cfbca0415586375b8", "d18ec97b5b5cf117473652e7584a22de"
    ),
    "large": Size(
        200_000,
        8_000,
        40,
        5_000,
        1_024,
        "7e89ddf20921b2af324cc0a476bd57c0",
        "addd781eb0025eb7f87d59eef4502185",
    ),
}


class Problem(NamedTuple):
    """Training rows, their labels, and queries."""

    X: sp.csr_array
    y: sp.csr_array
    Q: sp.csr_array


@dataclass(frozen=True)
class Report:
    """What a check found."""

    device: str
    correct: bool
    found: str
    ranked_correct: bool
    ranked_found: str
    rows_per_second: float
    ranked_per_second: float
    """Rows per second when label models rank the candidates."""
    roofline_share: float | None
    """Time that reading the postings takes at the device's peak, over the measured time; an
    estimate of how much room is left. None if the device does not state its bandwidth."""


def check(backend: str, size: str = "small", device: Any = None) -> Report:
    """Run the fixed problem on a backend and compare.

    Examples
    --------
    >>> check("numpy").correct
    True
    """
    wanted = SIZES[size]
    problem = make_problem(wanted)
    clf = SWNNClassifier(backend=backend, device=device).fit(problem.X, problem.y)
    ranker = fixed_ranker(clf, drawn_matrix(4, wanted.labels, wanted.features, 64))
    found, ranked = answer_hash(clf, problem.Q), _hash(*ranker.predict_topk(problem.Q, k=K))
    clf.set_params(n_neighbors=25, alpha=1, beta=1)
    seconds, ranked_seconds = _seconds(clf, problem.Q), _seconds(ranker, problem.Q)
    bandwidth = peak_bandwidth(backend, device)
    n_queries, n_bytes = problem.Q.shape[0], posting_bytes(problem.X, problem.Q)
    return Report(
        device=device_name(backend, device),
        correct=found == wanted.golden,
        found=found,
        ranked_correct=ranked == wanted.golden_ranked,
        ranked_found=ranked,
        rows_per_second=n_queries / seconds,
        ranked_per_second=n_queries / ranked_seconds,
        roofline_share=n_bytes / bandwidth / seconds if bandwidth else None,
    )


def answer_hash(clf: SWNNClassifier, Q: Any) -> str:
    """Hash of neighbours and labels under all settings."""
    arrays: list[Any] = []
    for n_neighbors, alpha, beta in SETTINGS:
        clf.set_params(n_neighbors=n_neighbors, alpha=alpha, beta=beta)
        near = clf.kneighbors(Q)
        arrays += [near.ids, near.similarities, *clf.predict_topk(Q, k=K)]
    return _hash(*arrays)


def _hash(*arrays: Any) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        kind = "<f8" if array.dtype.kind == "f" else "<i8"
        digest.update(np.ascontiguousarray(array, dtype=kind).tobytes())
    return digest.hexdigest()[:32]


def _seconds(clf: AnyModel, Q: Any) -> float:
    started = time.perf_counter()
    clf.predict_topk(Q, k=K)  # ends with a copy to the host, so it waits for the device
    return time.perf_counter() - started


def make_problem(size: Size) -> Problem:
    """Make the problem; integers only, so that it is the same with every version of NumPy."""
    X = drawn_matrix(1, size.rows, size.features, size.row_length)
    y = drawn_matrix(2, size.rows, size.labels, 3).astype(bool)
    Q = drawn_matrix(3, size.queries, size.features, size.row_length)
    return Problem(X, y, Q)


def posting_bytes(X: Any, Q: Any) -> int:
    """Bytes of the postings of the queries' features among the rows of X, 4 for each.

    A search by postings reads them at least once, from memory or, where queries share features,
    from a cache.

    Examples
    --------
    >>> posting_bytes(sp.csr_array([[1, 1], [0, 1]]), sp.csr_array([[0, 1], [1, 1]]))
    20
    """
    postings = np.bincount(X.indices, minlength=X.shape[1])[Q.indices]
    return 4 * int(postings.sum())


def device_name(backend: str, device: Any) -> str:
    """The name of the device."""
    if backend == "cupy":
        import cupy

        properties = cupy.cuda.runtime.getDeviceProperties(device or 0)
        return str(properties["name"].decode())
    if (properties := _torch_properties(backend, device)) is not None:
        return str(properties.name)
    return str(device or "CPU")


def peak_bandwidth(backend: str, device: Any) -> float | None:
    """Bytes per second between the device and its memory, by its own figures, if any."""
    if backend == "cupy":
        import cupy

        known = cupy.cuda.Device(device or 0).attributes
        kilohertz, bits = known.get("MemoryClockRate", 0), known.get("GlobalMemoryBusWidth", 0)
    else:
        properties = _torch_properties(backend, device)
        kilohertz = getattr(properties, "memory_clock_rate", 0)
        bits = getattr(properties, "memory_bus_width", 0)
    return 2e3 * kilohertz * bits / 8 or None  # two transfers per clock


def _torch_properties(backend: str, device: Any) -> Any:
    """What CUDA tells torch of a device; None for any other device."""
    if backend != "torch" or not str(device).startswith("cuda"):
        return None
    import torch

    return torch.cuda.get_device_properties(device)


def drawn_matrix(stream: int, rows: int, columns: int, length: int) -> sp.csr_array:
    """Rows with about `length` entries: some columns are frequent, values are 1 to 4."""
    drawn = _mixed(np.arange(rows * length, dtype=np.uint64) + np.uint64(stream << 40))
    fraction = drawn >> np.uint64(43)  # 21 bits
    column = (fraction * fraction >> np.uint64(21)) * np.uint64(columns) >> np.uint64(21)
    value = (drawn & np.uint64(3)) + np.uint64(1)
    indptr = np.arange(0, rows * length + 1, length)
    made = sp.csr_array((value.astype(float), column.astype(np.int32), indptr), (rows, columns))
    made.sum_duplicates()
    return made


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers that look random: the splitmix64 generator's output function."""
    z = numbers * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
