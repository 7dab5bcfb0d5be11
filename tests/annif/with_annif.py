"""The service behind the real Annif: suggest, eval, and an ensemble with Annif's own tfidf.

    python tests/annif/with_annif.py ANNIF WORK

ANNIF is the `annif` command of an environment of its own, WORK an empty folder. Run it by
`make test-annif`. It fails with the line that did not hold.
"""

import json
import os
import re
import subprocess
import sys
import urllib.parse
import urllib.request
from pathlib import Path

from swnn_xp import datasets

ROWS, HELD_OUT = 4000, 100
PREFIX = "http://example.org/debtags/"
PROJECTS = """
[swnn]
name=SWNN
language=en
vocab=debtags
backend=http
endpoint={url}/annif/suggest

[tfidf]
name=Annif's tfidf
language=en
vocab=debtags
backend=tfidf
analyzer=simple

[mix]
name=both
language=en
vocab=debtags
backend=ensemble
sources=swnn,tfidf
"""


def main() -> None:
    annif, work = Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute()
    write_empty_punkt(work)
    texts = write_corpora(work)
    swnn = [sys.executable, "-m", "swnn_xp.cli.main"]
    options = [
        "--vocabulary",
        work / "vocabulary.tsv",
        "-o",
        work / "model",
        "--stop-words",
        "english",
    ]
    subprocess.run([*swnn, "fit", "--text", work / "train.tsv", *options], check=True)
    command = [*swnn, "serve", str(work / "model"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            url = server.stdout.readline().split()[-1]
            (work / "projects.cfg").write_text(PROJECTS.format(url=url))
            check(
                lambda *words, given=None: run(annif, work, *words, given=given), work, url, texts
            )
        finally:
            server.terminate()


def check(annif, work: Path, url: str, texts: list[str]) -> None:
    annif("load-vocab", "debtags", "vocabulary.tsv", "--language", "en")
    annif("train", "tfidf", "train.tsv")
    for text in texts[:3]:
        found = [line.split("\t") for line in annif("suggest", "swnn", given=text).splitlines()]
        expected = direct(url, text)
        assert len(found) == 10
        # Annif orders equal scores as it likes.
        for (uri, name, score), hit in zip(found, expected, strict=False):
            own = next(each for each in expected if each["uri"] == uri.strip("<>"))
            assert name == own["label"]
            assert abs(float(score) - own["score"]) < 1e-3
            assert abs(float(score) - hit["score"]) < 1e-3
        print("suggest:", ", ".join(name for _, name, _ in found[:3]))
    f1 = {name: f1_at_5(annif("eval", name, "test.tsv")) for name in ("swnn", "tfidf", "mix")}
    print("eval, F1@5:", ", ".join(f"{name} {value:.3f}" for name, value in f1.items()))
    assert f1["swnn"] > 0.3, "the service does worse than it should"
    assert f1["mix"] > f1["tfidf"], "the ensemble gains nothing from the service"


def write_corpora(work: Path) -> list[str]:
    """Write Annif's corpora and vocabulary of a part of debtags; return the texts to ask for."""
    data = datasets.load("debtags", weighting="counts")
    uris = [PREFIX + urllib.parse.quote(name, safe="") for name in data.label_names]
    pairs = zip(uris, data.label_names, strict=True)
    (work / "vocabulary.tsv").write_text("".join(f"<{uri}>\t{name}\n" for uri, name in pairs))
    for name, X, Y, count in (
        ("train", data.X_train, data.y_train, ROWS),
        ("test", data.X_test, data.y_test, HELD_OUT),
    ):
        step = X.shape[0] // count
        texts = [as_text(X[[i * step]], data.feature_names) for i in range(count)]
        subjects = [" ".join(f"<{uris[j]}>" for j in Y[[i * step]].indices) for i in range(count)]
        rows = zip(texts, subjects, strict=True)
        (work / f"{name}.tsv").write_text("".join(f"{text}\t{each}\n" for text, each in rows))
    return texts


def write_empty_punkt(work: Path) -> None:
    """Stand in for NLTK's model of sentences, which is no package: one without abbreviations."""
    folder = work / "nltk_data" / "tokenizers" / "punkt_tab" / "english"
    folder.mkdir(parents=True)
    for name in ("abbrev_types.txt", "collocations.tab", "ortho_context.tab", "sent_starters.txt"):
        (folder / name).write_text("")


def as_text(row, names: list[str]) -> str:
    counts = zip(row.indices, row.data, strict=True)
    return " ".join(" ".join([names[j]] * int(count)) for j, count in counts)


def run(annif: Path, work: Path, *words: str, given: str | None = None) -> str:
    environment = os.environ | {
        "ANNIF_CONFIG": "annif.default_config.ProductionConfig",
        "NLTK_DATA": str(work / "nltk_data"),
    }
    done = subprocess.run(
        [annif, *words], cwd=work, input=given, capture_output=True, text=True, env=environment
    )
    if done.returncode:
        sys.exit(f"annif {' '.join(words)}: {done.stderr[-2000:]}")
    return done.stdout


def direct(url: str, text: str) -> list[dict]:
    body = urllib.parse.urlencode({"text": text, "limit": 100}).encode()
    with urllib.request.urlopen(f"{url}/annif/suggest", body, timeout=60) as response:
        return json.load(response)["results"]


def f1_at_5(report: str) -> float:
    return float(re.search(r"F1@5:\s*([0-9.]+)", report)[1])


if __name__ == "__main__":
    main()
