"""Labels that no training row has: how many are found, by their names alone.

    make bench-never-seen [SETS="citeulike-t nvd-cpe"]

A tenth of the labels is drawn, and all training rows that have one of them are left out. The test
rows that have one of them are ranked among all labels. Beside this library, where `.venv-annif` is
there (`make test-annif` installs it), Annif's MLLM, a lexical backend, with the same names: it is
trained on some of the same rows, which is what its manual advises, as texts of the features' names,
whose order is lost.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "figures"))

from recorded import record

from swnn_xp import SWNNRanker, datasets, metrics

HERE = Path(__file__).resolve()
DATA = HERE.parents[3] / "shared" / "data"
ANNIF = HERE.parents[2] / os.environ.get("ANNIF_VENV", ".venv-annif") / "bin" / "annif"
SETS = "citeulike-t", "nvd-cpe"
SHARE, MLLM_ROWS, MLLM_QUERIES, K = 0.1, 2_000, 1_000, 5
URI = "http://example.org/l/"
PROJECT = """
[mllm]
name=MLLM
language=en
vocab=labels
backend=mllm
analyzer=snowball(english)
limit=5
"""


def split(data, seed=0):
    """Training rows without a tenth of the labels, the test rows with them, and which labels."""
    y_train, y_test = sp.csr_array(data.y_train), sp.csr_array(data.y_test)
    known = np.flatnonzero(y_train.sum(axis=0))
    chosen = np.random.default_rng(seed).choice(known, int(SHARE * known.size), replace=False)
    unseen = np.zeros(y_train.shape[1], bool)
    unseen[chosen] = True
    kept = np.flatnonzero(y_train @ unseen.astype(int) == 0)
    asked = np.flatnonzero(y_test @ unseen.astype(int) > 0)
    return kept, asked, unseen


def figures(truth, labels, unseen):
    """P@5 among all labels, and the share of the unseen labels that are among the five."""
    only = sp.csr_array(truth * unseen[None].astype(truth.dtype))
    found = metrics.found_by_count(only, labels, np.zeros(unseen.size), K)
    return {
        "P@5": 100 * metrics.precision_at_k(truth, labels, K),
        "found@5": 100 * int(found.found[0]) / max(1, int(found.n[0])),
        "recall@5": 100 * metrics.recall_at_k(only, labels, K),
    }


def ranked(data, kept, asked):
    """The five best labels by the ranker, with names, and its training time."""
    names = {"feature_names": data.feature_names, "label_names": data.label_names}
    began = time.process_time()
    clf = SWNNRanker().fit(data.X_train[kept], data.y_train[kept], **names, label_features="names")
    seconds = time.process_time() - began
    return clf.predict_topk(data.X_test[asked], k=K).labels, seconds, clf.names_used_


def as_text(row, names):
    return " ".join(names[j] for j in row.indices)


def by_mllm(data, kept, asked, folder):
    """The five best labels by Annif's MLLM."""
    sys.path.insert(0, str(HERE.parents[2] / "tests" / "annif"))
    from with_annif import run, write_empty_punkt

    write_empty_punkt(folder)
    (folder / "projects.cfg").write_text(PROJECT)
    names = [
        " ".join(re.findall(r"[^\W_]+", name.rpartition("\t")[2])) for name in data.label_names
    ]
    lines = (f"<{URI}{i}>\t{name or i}\n" for i, name in enumerate(names))
    (folder / "vocabulary.tsv").write_text("".join(lines))
    X, Y = sp.csr_array(data.X_train), sp.csr_array(data.y_train)
    with (folder / "train.tsv").open("w") as file:
        for row in kept[:: max(1, kept.size // MLLM_ROWS)][:MLLM_ROWS]:
            uris = " ".join(f"<{URI}{label}>" for label in Y[[row]].indices)
            file.write(f"{as_text(X[[row]], data.feature_names)}\t{uris}\n")
    (folder / "texts").mkdir()
    for i, row in enumerate(asked):
        text = as_text(sp.csr_array(data.X_test)[[row]], data.feature_names)
        (folder / "texts" / f"{i:06}.txt").write_text(text)
    run(ANNIF, folder, "load-vocab", "labels", "vocabulary.tsv", "--language", "en")
    run(ANNIF, folder, "train", "mllm", "train.tsv")
    run(ANNIF, folder, "index", "mllm", "texts", "--limit", str(K))
    labels = np.full((asked.size, K), -1)
    for i in range(asked.size):
        found = (folder / "texts" / f"{i:06}.annif").read_text().splitlines()
        ids = [int(line.split("\t")[0].strip("<>").removeprefix(URI)) for line in found[:K]]
        labels[i, : len(ids)] = ids
    return labels


def main() -> None:
    for name in sys.argv[1:] or SETS:
        if not (DATA / name).is_dir():
            sys.exit(f"left out: no data at {DATA}")
        data = datasets.load(name, root=DATA)
        kept, asked, unseen = split(data)
        some = asked[:: max(1, asked.size // MLLM_QUERIES)][:MLLM_QUERIES]
        about = {"dataset": name, "rows": kept.size, "queries": asked.size}
        about |= {"labels": int(unseen.sum()), "of": int(data.y_train.shape[1])}
        labels, seconds, used = ranked(data, kept, asked)
        truth = sp.csr_array(data.y_test)
        rows = [about | {"method": "swnn_xp, ranking, names", "train_s": seconds, "used": used}
                | figures(truth[asked], labels, unseen)]  # fmt: skip
        if ANNIF.exists():
            with tempfile.TemporaryDirectory(prefix="never-seen-") as folder:
                found = by_mllm(data, kept, some, Path(folder))
            own = figures(truth[some], labels[np.isin(asked, some)], unseen)
            both = {
                "Annif MLLM": figures(truth[some], found, unseen),
                "swnn_xp, same rows as MLLM": own,
            }
            rows += [about | {"method": m, "queries": some.size} | f for m, f in both.items()]
        for row in rows:
            print(row, flush=True)
        what = [row | {"what": "never seen", "command": "make bench-never-seen"} for row in rows]
        record("names", what, ("what", "dataset", "method"))


if __name__ == "__main__":
    main()
