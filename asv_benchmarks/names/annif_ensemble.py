"""One model beside the ensemble that libraries run: `annif eval` of this service, omikuji and MLLM.

    make bench-annif [SETS=citeulike-t]

All run inside Annif, on the same texts and the same vocabulary, and Annif computes the metrics.
Texts are made from rows: the names of a row's features, as often as they are in it if values are
counts; their order is lost. It takes the environment of `make test-annif` with `annif[omikuji]`.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "figures"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "annif"))

from never_seen import ANNIF, DATA, MLLM_ROWS, URI
from recorded import record
from with_annif import run, write_empty_punkt

from swnn_xp import datasets

SETS, QUERIES, MOST = ("citeulike-t",), 1_000, 20
TITLES = {
    "swnn": "swnn_xp, ranking, names",
    "omikuji": "omikuji",
    "mllm": "MLLM",
    "mix": "ensemble of omikuji and MLLM",
}
PROJECTS = """
[swnn]
name=SWNN
language=en
vocab=labels
backend=http
endpoint={url}/annif/suggest

[omikuji]
name=omikuji
language=en
vocab=labels
backend=omikuji
analyzer=simple

[mllm]
name=MLLM
language=en
vocab=labels
backend=mllm
analyzer=snowball(english)

[mix]
name=both
language=en
vocab=labels
backend=ensemble
sources=omikuji,mllm
"""


def write_corpus(path, X, Y, names):
    """Texts and subjects, a line for each row."""
    X, Y = sp.csr_array(X), sp.csr_array(Y)
    are_counts = bool(np.all(X.data == np.rint(X.data)))
    with path.open("w") as file:
        for row in range(X.shape[0]):
            own = slice(X.indptr[row], X.indptr[row + 1])
            times = np.minimum(X.data[own], MOST) if are_counts else np.ones(own.stop - own.start)
            words = zip(X.indices[own], times.astype(int), strict=True)
            text = " ".join(" ".join([names[j]] * n) for j, n in words)
            uris = " ".join(f"<{URI}{label}>" for label in Y[[row]].indices)
            file.write(f"{text}\t{uris}\n")


def prepare(data, folder):
    """Write vocabulary and corpora."""
    write_empty_punkt(folder)
    names = [
        " ".join(re.findall(r"[^\W_]+", name.rpartition("\t")[2])) for name in data.label_names
    ]
    lines = (f"<{URI}{i}>\t{name or i}\n" for i, name in enumerate(names))
    (folder / "vocabulary.tsv").write_text("".join(lines))
    some = np.linspace(0, data.X_train.shape[0] - 1, MLLM_ROWS).astype(int)
    asked = np.linspace(0, data.X_test.shape[0] - 1, QUERIES).astype(int)
    for name, X, Y in (
        ("train", data.X_train, data.y_train),
        ("some", data.X_train[some], data.y_train[some]),
        ("test", data.X_test[asked], data.y_test[asked]),
    ):
        write_corpus(folder / f"{name}.tsv", X, Y, data.feature_names)


def evaluate(folder):
    """Fit, serve, train and evaluate; metrics of each project."""
    swnn = [sys.executable, "-m", "swnn_xp.cli.main"]
    learn = ["--learn", "ranking", "--label-features", "names", "-o", folder / "model"]
    texts = ["--text", folder / "train.tsv", "--vocabulary", folder / "vocabulary.tsv"]
    subprocess.run([*swnn, "fit", *texts, *learn], check=True)
    command = [*swnn, "serve", str(folder / "model"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            url = server.stdout.readline().split()[-1]
            (folder / "projects.cfg").write_text(PROJECTS.format(url=url))
            run(ANNIF, folder, "load-vocab", "labels", "vocabulary.tsv", "--language", "en")
            run(ANNIF, folder, "train", "omikuji", "train.tsv")
            run(ANNIF, folder, "train", "mllm", "some.tsv")
            for project, title in TITLES.items():
                report = run(ANNIF, folder, "eval", project, "test.tsv")
                yield (
                    title,
                    {f"P@{k}": metric(report, f"Precision@{k}") for k in (1, 3, 5)}
                    | {
                        "F1@5": metric(report, "F1@5"),
                        "nDCG@5": metric(report, "NDCG@5"),
                    },
                )
        finally:
            server.terminate()


def metric(report, name):
    return 100 * float(re.search(rf"{re.escape(name)}:\s*([0-9.]+)", report)[1])


def main() -> None:
    if not ANNIF.exists():
        sys.exit(f"left out: there is no Annif at {ANNIF}; `make test-annif` installs it")
    for name in sys.argv[1:] or SETS:
        if not (DATA / name).is_dir():
            sys.exit(f"left out: no data at {DATA}")
        data = datasets.load(name, root=DATA)
        with tempfile.TemporaryDirectory(prefix="annif-") as folder:
            prepare(data, Path(folder))
            for title, found in evaluate(Path(folder)):
                row = {
                    "what": "annif",
                    "dataset": name,
                    "method": title,
                    "queries": QUERIES,
                } | found
                print(row, flush=True)
                record(
                    "names", [row | {"command": "make bench-annif"}], ("what", "dataset", "method")
                )


if __name__ == "__main__":
    main()
