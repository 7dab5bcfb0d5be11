"""A model whose damage shows only in some queries: the service reports it and keeps running."""

import numpy as np
import pytest
import scipy.sparse as sp
from starlette.testclient import TestClient

from swnn_xp import SWNNClassifier
from swnn_xp.serve import Limits, Service, create_app

from .conftest import PATIENCE


@pytest.fixture
def damaged(tmp_path):
    """The folder of a model with one damaged list, a feature of it, and one of a sound list."""
    rng = np.random.default_rng(5)
    often = np.minimum(1, 4 / np.arange(1, 121))
    X = sp.csr_array(rng.random((700, 120)) * (rng.random((700, 120)) < often))
    Y = sp.csr_array((rng.random((700, 4)) < 0.4).astype(np.int8))
    clf = SWNNClassifier(n_neighbors=7).fit(X, Y)
    path = tmp_path / "model"
    clf.save(path)
    starts = clf.model_.segments[0].kernel_index.stored.list_indptr
    sound, bad = np.flatnonzero(np.diff(starts))[:2]  # frequent features have no list
    (file,) = path.glob("data-*/index_list_rows.npy")
    with file.open("r+b") as stored:
        after = int(starts[-1] - starts[bad]) * 4
        stored.seek(-after, 2)
        stored.write(b"\xff" * 4)  # a row far beyond the last one
    return path, int(bad), int(sound)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("explain", [False, True])
def test_a_damaged_list_means_500_and_a_line(damaged, caplog, threads, explain):
    path, bad, sound = damaged
    service = Service(path, threads=threads, limits=Limits(seconds=PATIENCE))

    def ask(*features):
        rows = [{"indices": [feature]} for feature in features]
        return client.post("/v1/predict", json={"rows": rows, "explain": explain})

    # What is not handled would be raised here, and logged by a server with all its stack.
    with TestClient(create_app(service)) as client:
        before = ask(sound)
        assert before.status_code == 200
        caplog.clear()
        refused = ask(sound, bad)
        assert refused.status_code == 500
        assert refused.json() == {"error": "row 1: the model is damaged"}
        (line,) = [each.getMessage() for each in caplog.records if each.name == "swnn_xp.serve"]
        message = f"model 1 can't answer a row: index: the list of feature {bad} is damaged"
        assert line == f"{message}; `swnn verify {path}` names the file"
        for _ in range(3):  # each session has been asked again
            assert ask(bad).status_code == 500
            assert ask(sound).json() == before.json()
        assert client.get("/healthz").json() == {"status": "ok", "model": 1}
        assert "swnn_waiting_or_running 0" in client.get("/metrics").text


def test_a_single_row_reports_it_once(damaged, caplog):
    path, bad, sound = damaged
    client = TestClient(create_app(Service(path, limits=Limits(seconds=PATIENCE))))
    assert client.post("/v1/predict", json={"rows": [{"indices": [sound]}]}).status_code == 200
    caplog.clear()
    refused = client.post("/v1/predict", json={"rows": [{"indices": [bad]}]})
    assert refused.status_code == 500
    assert refused.content == b'{"error":"row 0: the model is damaged"}'
    assert len([line for line in caplog.records if line.name == "swnn_xp.serve"]) == 1
