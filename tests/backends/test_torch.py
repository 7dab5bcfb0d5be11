"""What only torch has: sparse layouts, devices."""

import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import SWNNClassifier
from swnn_xp.cli.main import main

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.filterwarnings("ignore:Sparse:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*in beta state:UserWarning"),
]

RNG = np.random.default_rng(0)
X = RNG.choice([0.0, 0.0, 1.0, 2.0], size=(30, 8))
Y = (RNG.random((30, 5)) < 0.4).astype(int)
WANTED = SWNNClassifier(5, backend="numpy").fit(X, Y).predict_topk(X)


@pytest.mark.parametrize(
    "bring",
    [
        torch.tensor,
        lambda x: torch.tensor(x, dtype=torch.float32),
        lambda x: torch.tensor(x).to_sparse_csr(),
        lambda x: torch.tensor(x).to_sparse_coo(),
        lambda x: torch.tensor(x).to_sparse_csc(),
    ],
)
def test_every_layout(bring):
    labels, scores = SWNNClassifier(5).fit(bring(X), torch.tensor(Y)).predict_topk(bring(X))
    assert isinstance(labels, torch.Tensor)
    assert torch.equal(labels, torch.tensor(WANTED.labels))
    assert torch.equal(scores, torch.tensor(WANTED.scores))


def test_repeats_of_a_coo_tensor_are_summed():
    at, values = torch.tensor([[0, 0, 1], [1, 1, 0]]), torch.tensor([1.0, 2.0, 5.0])
    twice = torch.sparse_coo_tensor(at, values, size=(2, 2))
    clf = SWNNClassifier(1).fit(twice, np.eye(2))
    assert clf.backend_ == "torch"
    assert clf.model_.rows().quantised.tolist() == [2**23, 2**23]


def test_explanations_and_mixed_callers():
    clf = SWNNClassifier(5).fit(torch.tensor(X), sp.csr_array(Y))
    host = SWNNClassifier(5, backend="numpy").fit(X, Y)
    label = int(WANTED.labels[0, 0])
    assert clf.explain(torch.tensor(X[0]), label) == host.explain(X[0], label)
    assert isinstance(clf.predict_topk(X).labels, np.ndarray)
    assert sp.issparse(clf.predict(sp.csr_array(X)))
    assert clf.score(torch.tensor(X), Y) == host.score(X, Y)


@pytest.mark.skipif(torch.cuda.is_available(), reason="CUDA is there")
@pytest.mark.parametrize("device", ["cuda", "cuda:0", "nonsense"])
def test_a_device_that_is_not_there_is_one_line(device, capsys):
    with pytest.raises(ValueError, match=f"device '?{device}'?.*"):
        SWNNClassifier(backend="torch", device=device).fit(X, Y)
    check = ["gpu-check", "--backend", "torch", "--device", device, "--quick"]
    assert main(check) == 2  # 1 says that an answer differs
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("swnn: error: device ")


def test_clear_errors():
    with pytest.raises(ValueError, match="device cuda:7 can't be used"):
        SWNNClassifier(backend="torch", device="cuda:7").fit(X, Y)
    with pytest.raises(ValueError, match="X is a torch array and backend 'numba' takes NumPy"):
        SWNNClassifier(backend="numba").fit(torch.tensor(X), Y)
    bad = torch.tensor(X)
    bad[2, 1] = torch.nan
    with pytest.raises(ValueError, match="row 2, column 1 is NaN"):
        SWNNClassifier().fit(bad, Y)
    with pytest.raises(ValueError, match="Complex data not supported"):
        SWNNClassifier().fit(torch.tensor(X).to(torch.complex128), Y)
    with pytest.raises(ValueError, match="'array-api' does not take a Tensor"):
        SWNNClassifier(backend="array-api").fit(torch.tensor(X).to_sparse_csr(), Y)


def test_less_memory_halves_the_block(monkeypatch):
    from swnn_xp.backends.torch_ import TorchIndex

    search, sizes = TorchIndex._search_block, []

    def tight(self, block, *args):
        sizes.append(block.n_rows)
        if block.n_rows > 4:
            raise torch.OutOfMemoryError("as if")
        return search(self, block, *args)

    monkeypatch.setattr(TorchIndex, "_search_block", tight)
    labels = SWNNClassifier(5, backend="torch").fit(X, Y).predict_topk(X).labels
    np.testing.assert_array_equal(labels, WANTED.labels)
    assert sizes[:4] == [30, 15, 7, 3]
