"""Where numba can't be used, models are fitted with NumPy, and one that numba wrote is refused."""

import subprocess
import sys

import pytest
from store import damage

OPEN = """
import sys, warnings
sys.modules["numba"] = None
from swnn_xp import SWNNClassifier
folder, backend = sys.argv[1:]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    clf = SWNNClassifier().fit([[1, 0], [0, 1]], [[1, 0], [0, 1]])
assert [str(w.message)[:20] for w in caught] == ["backend 'numba' need"], caught
assert clf.backend_ == "numpy"
assert clf.predict([[0, 1]]).tolist() == [[0, 1]]
try:
    SWNNClassifier.load(folder, backend=backend)
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize("backend", ["auto", "numpy"])
def test_numpy_answers_and_saved_models_are_refused_in_one_line(tmp_path, backend):
    damage.models(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", OPEN, str(tmp_path / "numba"), backend],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "backend 'numba' needs numba: pip install swnn-xp\n"
