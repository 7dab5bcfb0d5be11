"""A model with names that would hurt a careless page, and the service over it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import SWNNClassifier
from swnn_xp.serve import Limits, Service, create_app

# The machine may be slow and busy, or stand still for minutes; only a hang may end a test.
PATIENCE = 250
FEATURES = ["red", "green", "blue", "<b>bold</b>", "ünïcode", "two words", "", "7"]
LABELS = ["warm", "cold", "<img src=x onerror=alert(1)>", "größe"]
TOKEN = "s3cret-tökén"
# Where to keep screenshots to look at; none are kept by default.
SHOTS = os.environ.get("SWNN_SCREENSHOTS")


def make_model(path, seed=0, **names):
    rng = np.random.default_rng(seed)
    X = sp.random_array((200, 8), density=0.4, rng=rng, format="csr")
    Y = sp.csr_array((rng.random((200, 4)) < 0.4).astype(np.int8))
    clf = SWNNClassifier(n_neighbors=9).fit(X, Y, **names)
    clf.save(path)
    return clf, X


@pytest.fixture(scope="session")
def named(tmp_path_factory):
    """The folder of a model with names, the classifier, and rows."""
    path = tmp_path_factory.mktemp("models") / "named"
    return path, *make_model(path, feature_names=FEATURES, label_names=LABELS)


@pytest.fixture(scope="session")
def nameless(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "nameless"
    return path, *make_model(path)


@pytest.fixture
def service(named):
    limits = Limits(bytes=20_000, rows=50, features=30, seconds=PATIENCE)
    service = Service(named[0], token=TOKEN, limits=limits)
    yield service
    service.pool.close()


@pytest.fixture
def client(service):
    from starlette.testclient import TestClient

    return TestClient(create_app(service), raise_server_exceptions=False)


class Running:
    """A service in a process of its own."""

    def __init__(self, process, url):
        self.process, self.url = process, url

    def post(self, path, body, timeout=PATIENCE, **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} | headers
        request = urllib.request.Request(self.url + path, data, headers)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as response:
                return response.status, json.load(response), response.headers
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error), error.headers

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=PATIENCE) as response:
            return response.read().decode()


@pytest.fixture
def run():
    """Start `swnn serve` with the given arguments; stopped at the end."""
    with contextlib.ExitStack() as stack:

        def start(*arguments, **environment):
            command = [sys.executable, "-m", "swnn_xp.cli.main", "serve"]
            command += ["--timeout", str(PATIENCE), *map(str, arguments)]
            process = stack.enter_context(
                subprocess.Popen(
                    [*command, "--port", "0"],
                    stdout=subprocess.PIPE,
                    text=True,
                    env=os.environ | environment,
                )
            )
            stack.callback(process.send_signal, signal.SIGTERM)
            return Running(process, process.stdout.readline().split()[-1])

        yield start


@pytest.fixture
def shot(tmp_path):
    folder = Path(SHOTS) if SHOTS else tmp_path
    return lambda page, name: page.screenshot(folder / f"{name}.png")
