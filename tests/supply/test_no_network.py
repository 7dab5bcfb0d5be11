"""The library works where the network is forbidden."""

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]

# Everything a user does with a model, from the command line and from Python.
USE = """
import sys
from swnn_xp.cli.main import main

folder = sys.argv[1]
train, model = f"{folder}/train.txt", f"{folder}/model"
assert main(["twin", "wiki10", "--scale", "0.01", "-o", folder]) == 0
assert main(["summarize", train, "--html", f"{folder}/page.html"]) == 0
assert main(["tune", train, "-o", f"{folder}/best.toml"]) == 0
assert main(["fit", train, "--params", f"{folder}/best.toml", "-o", model]) == 0
assert main(["verify", model]) == 0
for backend in ("numba", "numpy"):
    assert main(["evaluate", model, f"{folder}/test.txt", "--backend", backend]) == 0
assert main(["predict", model, f"{folder}/test.txt", "-o", f"{folder}/labels.tsv"]) == 0
assert main(["explain", model, f"{folder}/test.txt", "--row", "0"]) == 0
assert main(["demo"]) == 0
"""


def run(code, *arguments):
    """Run code in a process that may not use the network."""
    guarded = f"import supply.no_sockets as guard\nguard.start()\n{code}"
    command = [sys.executable, "-c", guarded, *arguments]
    return subprocess.run(command, cwd=TESTS, capture_output=True, text=True, timeout=600)


def test_the_library_needs_no_network(tmp_path):
    found = run(USE, str(tmp_path))
    assert found.returncode == 0, found.stderr[-3000:]


def test_a_use_of_the_network_would_fail():
    found = run("import urllib.request\nurllib.request.urlopen('http://127.0.0.1:9')")
    assert found.returncode == 1
    assert "the network was used" in found.stderr
