"""In a fresh process: append rows to a large model, against building it anew with them.

CPU time on one thread, since a ratio of wall times says little on a machine that others use too.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import scipy.sparse as sp
from twin_cache import open_twin

from swnn_xp import SWNNClassifier

_NEW = 1000


def measure(cache: Path) -> dict[str, float]:
    twin = open_twin(cache)
    new_X, new_Y = twin.X_test[:_NEW], twin.y_test[:_NEW]
    clf = SWNNClassifier().fit(twin.X_train, twin.y_train)
    appended = []
    before = clf.model_
    for _ in range(3):
        clf._model = before
        began = time.process_time()
        clf.partial_fit(new_X, new_Y)
        appended.append(time.process_time() - began)
    X, Y = sp.vstack([twin.X_train, new_X], "csr"), sp.vstack([twin.y_train, new_Y], "csr")
    began = time.process_time()
    SWNNClassifier().fit(X, Y)
    return {
        "rows": twin.X_train.shape[0],
        "new": _NEW,
        "append_seconds": min(appended),
        "rebuild_seconds": time.process_time() - began,
    }


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]))))
