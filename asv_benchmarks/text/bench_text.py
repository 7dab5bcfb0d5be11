"""How long a text takes to become a row: `TextVectorizer.row` beside scikit-learn's `transform`.

    python asv_benchmarks/text/bench_text.py

Texts of 1,000 characters, made of the words of debtags. CPU time of one thread, the best of
several turns over all texts.
"""

import sys
import time
from pathlib import Path

from sklearn.feature_extraction.text import TfidfVectorizer

from swnn_xp import datasets
from swnn_xp.text import TextVectorizer

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "figures"))

from recorded import record

TEXTS, LENGTH, TURNS = 100, 1000, 100
SETTINGS = {
    "words": {},
    "words, stop words": {"stop_words": "english"},
    "words and pairs of words": {"ngram_range": (1, 2)},
    "characters, 3 to 5": {"analyzer": "char_wb", "ngram_range": (3, 5)},
}


def main() -> None:
    corpus = make_corpus()
    joined = "\n".join(corpus)
    texts = [joined[i * LENGTH : (i + 1) * LENGTH] for i in range(TEXTS)]
    print(f"{TEXTS} texts of {LENGTH} characters: microseconds of CPU time per text")
    print(f"{'':<28}{'row':>10}{'scikit-learn':>15}")
    rows = []
    for name, settings in SETTINGS.items():
        theirs = TfidfVectorizer(sublinear_tf=True, **settings).fit(corpus)
        ours = TextVectorizer.from_sklearn(theirs)
        assert (ours.transform(texts) != theirs.transform(texts)).nnz == 0
        own = best(ours.row, texts, TURNS)
        others = best(lambda text, transform=theirs.transform: transform([text]), texts, 3)
        print(f"{name:<28}{own:>10.0f}{others:>15.0f}")
        row = {"what": f"turn a text of {LENGTH:,} characters into a row, {name}"}
        row |= {"figure": f"{own:.0f} µs CPU", "beside": f"scikit-learn: {others:.0f} µs"}
        rows.append(row | {"command": "make bench-text"})
    record("text", rows, ("what",))


def make_corpus() -> list[str]:
    data = datasets.load("debtags", weighting="counts")
    rows = (data.X_train[[i]] for i in range(5000))
    return [" ".join(data.feature_names[j] for j in row.indices[::-1]) for row in rows]


def best(function, texts, turns) -> float:
    times = []
    for _ in range(turns):
        started = time.thread_time()
        for text in texts:
            function(text)
        times.append(time.thread_time() - started)
    return 1e6 * min(times) / len(texts)


if __name__ == "__main__":
    main()
