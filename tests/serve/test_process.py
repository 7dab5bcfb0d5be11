"""The service as a process: overload, signals, swapping the model, stopping."""

import http.client
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import SWNNClassifier
from swnn_xp.cli.main import main

from .conftest import PATIENCE, TOKEN, make_model

ONE = {"rows": [{"indices": [1]}]}


def test_files_that_were_cut_in_place_do_not_end_it(run, named, tmp_path):
    path = tmp_path / "model"
    shutil.copytree(named[0], path)
    served = run(path, "--reload-token-file", write(tmp_path / "token", "s3cret"))
    assert served.post("/v1/predict", ONE)[0] == 200
    for file in path.glob("data-*/*"):
        os.truncate(file, 10)
    time.sleep(0.2)  # it looks at the files ten times a second
    for request in (ONE, ONE | {"explain": True}):
        status, answer, _ = served.post("/v1/predict", request)
        assert (status, answer) == (500, {"error": "the model's files have changed: reload it"})
    status, answer, _ = served.post("/v1/reload", {}, Authorization="Bearer s3cret")
    assert status == 409
    shutil.rmtree(path)
    shutil.copytree(named[0], path)
    assert served.post("/v1/reload", {}, Authorization="Bearer s3cret")[0] == 200
    assert served.post("/v1/predict", ONE)[0] == 200


def write(path, text):
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def slow_model(tmp_path_factory):
    """Every query touches every row, so that many rows take a while."""
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.random((30_000, 20)))
    Y = sp.csr_array((rng.random((30_000, 3)) < 0.5).astype(np.int8))
    path = tmp_path_factory.mktemp("slow") / "model"
    SWNNClassifier(n_neighbors=50, beta=0.5).fit(X, Y).save(path)
    return path


def slow_question(n_rows):
    rng = np.random.default_rng(1)
    rows = [{"indices": list(range(20)), "values": rng.random(20).tolist()} for _ in range(n_rows)]
    return {"rows": rows}


def wait_for(served, line):
    while line not in served.get("/metrics").splitlines():
        time.sleep(0.05)


def test_binds_to_loopback_and_says_where(run, named):
    served = run(named[0])
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", served.url)
    status, answer, headers = served.post("/v1/predict", ONE)
    assert (status, answer["model"]) == (200, 1)
    assert "server" not in headers


@pytest.mark.parametrize("threads", [1, 2])
def test_full_means_503_and_nothing_is_lost(run, slow_model, threads):
    served = run(slow_model, "--threads", threads, "--queue", 2)
    question = slow_question(150)
    found = []
    with ThreadPoolExecutor(12) as clients:
        while all(status != 503 for status, _, _ in found):  # the clients may not come at once
            found = list(clients.map(lambda _: served.post("/v1/predict", question), range(12)))
    statuses = [status for status, _, _ in found]
    assert set(statuses) == {200, 503}
    assert statuses.count(200) >= threads + 2
    assert all(headers["Retry-After"] == "1" for status, _, headers in found if status == 503)
    answers = [answer for status, answer, _ in found if status == 200]
    assert all(answer == answers[0] for answer in answers)
    assert served.post("/v1/predict", slow_question(1))[0] == 200
    assert "swnn_waiting_or_running 0" in served.get("/metrics")


def test_too_slow_means_504_and_the_place_is_free_again(run, slow_model):
    served = run(slow_model, "--timeout", 0.05, "--max-rows", 5000, "--queue", 1)
    for _ in range(4):
        assert served.post("/v1/predict", slow_question(1500))[0] == 504
        wait_for(served, "swnn_waiting_or_running 0")


def test_a_body_that_does_not_arrive_means_408(run, named):
    served = run(named[0], "--timeout", 0.3)
    connection = http.client.HTTPConnection(served.url.removeprefix("http://"), timeout=PATIENCE)
    connection.putrequest("POST", "/v1/predict")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", "100")
    connection.endheaders(b'{"rows"')
    assert connection.getresponse().status == 408
    connection.close()


@pytest.mark.parametrize("how", ["signal", "http"])
def test_swapping_the_model_drops_nothing(run, tmp_path, how):
    first, _ = make_model(tmp_path / "model", seed=0)
    served = run(tmp_path / "model", "--threads", 2, SWNN_RELOAD_TOKEN=TOKEN)
    rows = {"rows": [{"indices": [1, 4, 6], "values": [1, 2, 3]}], "k": 4}
    seen, stop = [], threading.Event()

    def ask():
        while not stop.is_set():
            seen.append(served.post("/v1/predict", rows))

    askers = [threading.Thread(target=ask) for _ in range(4)]
    for asker in askers:
        asker.start()
    while not seen:
        time.sleep(0.01)
    second, _ = make_model(tmp_path / "model", seed=1)
    if how == "signal":
        served.process.send_signal(signal.SIGHUP)
    else:
        authorization = f"Bearer {TOKEN}".encode().decode("latin-1")
        assert served.post("/v1/reload", b"", Authorization=authorization)[0] == 200
    while seen[-1][1].get("model") != 2:
        time.sleep(0.01)
    stop.set()
    for asker in askers:
        asker.join()
    assert {status for status, _, _ in seen} == {200}
    x = np.zeros((1, 8))
    x[0, [1, 4, 6]] = [1, 2, 3]
    expected = {1: first.predict_topk(x, 4), 2: second.predict_topk(x, 4)}
    for _, answer, _ in seen:
        best = expected[answer["model"]]
        assert answer["rows"][0]["labels"] == best.labels[0].tolist()
        assert answer["rows"][0]["scores"] == best.scores[0].tolist()
    assert {answer["model"] for _, answer, _ in seen} == {1, 2}


def test_a_signal_with_a_broken_model_keeps_the_old_one(run, tmp_path):
    make_model(tmp_path / "model")
    served = run(tmp_path / "model")
    manifest = tmp_path / "model" / "manifest.json"
    text = manifest.read_bytes()
    manifest.write_bytes(text[:-20])
    served.process.send_signal(signal.SIGHUP)
    wait_for(served, "swnn_failed_reloads_total 1")
    assert served.post("/v1/predict", ONE)[1]["model"] == 1
    manifest.write_bytes(text)
    served.process.send_signal(signal.SIGHUP)
    wait_for(served, "swnn_reloads_total 1")
    assert served.post("/v1/predict", ONE)[1]["model"] == 2


@pytest.mark.parametrize(("stop", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_stopping_finishes_what_is_running(run, slow_model, stop, code):
    served = run(slow_model, "--max-rows", 5000)
    with ThreadPoolExecutor(1) as client:
        answer = client.submit(served.post, "/v1/predict", slow_question(1000))
        while "swnn_waiting_or_running 1" not in served.get("/metrics"):
            assert not answer.done(), "too quick to be stopped in the middle"
        served.process.send_signal(stop)
        status, body, _ = answer.result()
    assert status == 200
    assert len(body["rows"]) == 1000
    assert served.process.wait(timeout=PATIENCE) == code


def test_errors_are_one_line(tmp_path, named, capsys):
    assert main(["serve", str(tmp_path / "nothing")]) == 2
    assert "does not exist" in capsys.readouterr().err
    assert main(["serve", str(named[0]), "--port", "99999"]) == 2
    assert "port must be within 0..65535, got 99999" in capsys.readouterr().err
    assert main(["serve", str(named[0]), "--host", "192.0.2.1"]) == 2
    assert "can't listen on 192.0.2.1 port 8000" in capsys.readouterr().err
    assert main(["serve", str(named[0]), "--max-k", "0"]) == 2
    assert "limit of k" in capsys.readouterr().err


def test_without_the_extra_the_command_says_so(named):
    code = (
        "import sys; sys.modules['starlette'] = None\n"
        "from swnn_xp.cli.main import main\n"
        f"sys.exit(main(['serve', {str(named[0])!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert "pip install 'swnn-xp[serve]'" in done.stderr
