"""Models that take texts: a pipeline's answers, kept in files; forgeries are refused."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

import swnn_xp
from swnn_xp import LearnedWeights, SWNNClassifier, SWNNRanker
from swnn_xp.store import StoreError, open_arrays, save_arrays

WORDS = [
    "chess",
    "game",
    "board",
    "tree",
    "apple",
    "wine",
    "paint",
    "brush",
    "colour",
    "news",
    "mail",
    "print",
]
LABELS = ["game", "food", "art"]


def make_texts(n, seed=0):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, 3)) < 0.5).astype(int)
    at = [rng.choice(12, 6, p=np.repeat([0.04 + row[0], 0.04 + row[1], 0.04 + row[2], 0.1], 3)
          / np.repeat([0.04 + row[0], 0.04 + row[1], 0.04 + row[2], 0.1], 3).sum())
          for row in Y]  # fmt: skip
    return [" ".join(WORDS[i] for i in row) for row in at], Y


TEXTS, Y = make_texts(80)
QUERIES, _ = make_texts(30, seed=1)


def weighted():
    weights = LearnedWeights(9).fit(TfidfVectorizer(sublinear_tf=True).fit_transform(TEXTS), Y)
    return {"feature_weights": weights.feature_weights_}


KINDS = {
    "published": (lambda: SWNNClassifier(9), dict),
    "weights": (lambda: SWNNClassifier(9), weighted),
    "ranking": (lambda: SWNNRanker(n_neighbors=9), dict),
    "defaults": (SWNNRanker, dict),
}


@pytest.fixture(scope="module", params=KINDS)
def both(request, tmp_path_factory):
    """A model of texts, opened from its folder, and a model of rows with its vectoriser."""
    make, options = KINDS[request.param]
    by_hand = TfidfVectorizer(sublinear_tf=True)
    rows = make().fit(by_hand.fit_transform(TEXTS), Y, **options())
    path = tmp_path_factory.mktemp("text")
    texts = make().fit(
        TEXTS, Y, label_names=LABELS, vectorizer=TfidfVectorizer(sublinear_tf=True), **options()
    )
    texts.save(path)
    return swnn_xp.load(path, verify=True), rows, by_hand, path


@pytest.mark.parametrize(
    "ask",
    [
        lambda clf, X: clf.predict_topk(X, 3),
        lambda clf, X: clf.topk_probabilities(X, 3),
        lambda clf, X: clf.kneighbors(X),
        lambda clf, X: [clf.predict(X)],
        lambda clf, X: [clf.predict_proba(X)],
        lambda clf, X: [clf.decision_function(X)],
        lambda clf, X: [np.array([clf.score(X, Y[:30])])],
    ],
)
def test_the_answers_of_a_pipeline(both, ask):
    texts, rows, by_hand, _ = both
    for queries in (QUERIES, tuple(QUERIES), np.array(QUERIES), np.array(QUERIES, object)):
        for ours, theirs in zip(
            ask(texts, queries), ask(rows, by_hand.transform(QUERIES)), strict=True
        ):
            np.testing.assert_array_equal(ours, theirs)


def test_names_explanations_and_sessions(both):
    texts, rows, by_hand, _ = both
    best = rows.predict_topk(by_hand.transform(QUERIES), 2)
    assert texts.predict_names(QUERIES, 2) == [
        [LABELS[label] for label in row if label >= 0] for row in best.labels
    ]
    why, expected = (
        texts.explain(QUERIES[0], "art"),
        rows.explain(by_hand.transform(QUERIES[:1]), 2),
    )
    assert (why.score, why.name) == (expected.score, "art")
    assert why.voters[0].features[0].name in WORDS
    session = texts.session()
    for i, text in enumerate(QUERIES):
        answer = session.predict_one(*texts.vectorizer_.row(text), k=2)
        np.testing.assert_array_equal(answer.labels, best.labels[i])


def test_changed_and_saved_again(both, tmp_path):
    texts, _, by_hand, path = both
    changed = swnn_xp.load(path).partial_fit(QUERIES[:5], Y[:5]).remove([1]).compact()
    changed.save(tmp_path)
    again = swnn_xp.load(tmp_path)
    assert again.n_samples_fit_ == 84
    assert again.feature_names_ == list(by_hand.get_feature_names_out())
    np.testing.assert_array_equal(
        again.predict_topk(QUERIES).scores, changed.predict_topk(QUERIES).scores
    )
    assert texts.vectorizer_.idf.tolist() == by_hand.idf_.tolist()


def test_answers_without_scikit_learn(both):
    path = both[3]
    program = f"""
import sys
sys.modules["sklearn"] = None
import swnn_xp
print(swnn_xp.load({str(path)!r}).predict_names([{QUERIES[0]!r}], 1))
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == str(both[0].predict_names(QUERIES[:1], 1))


@pytest.mark.parametrize("make", [lambda: SWNNClassifier(9), lambda: SWNNRanker(n_neighbors=9)])
def test_texts_without_a_vectorizer(make):
    usual = make().fit(TEXTS, Y)
    given = make().fit(TEXTS, Y, vectorizer=TfidfVectorizer(sublinear_tf=True))
    assert usual.feature_names_ == given.feature_names_
    assert usual.vectorizer_.weighting == given.vectorizer_.weighting
    assert usual.vectorizer_.analysis == given.vectorizer_.analysis
    for mine, its in zip(usual.predict_topk(QUERIES), given.predict_topk(QUERIES), strict=True):
        np.testing.assert_array_equal(mine, its)
    first = make().partial_fit(TEXTS, Y)
    np.testing.assert_array_equal(first.predict_topk(QUERIES), usual.predict_topk(QUERIES))


def test_texts_without_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction", None)
    with pytest.raises(ImportError, match=r"needs scikit-learn .*: pip install 'swnn-xp\[text\]'"):
        SWNNClassifier().fit(TEXTS, Y)


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        ("one text", {"vectorizer": TfidfVectorizer()}, "X is one text"),
        (TEXTS, {"vectorizer": TfidfVectorizer(), "feature_names": WORDS}, "don't give both"),
        (np.ones((80, 12)), {"vectorizer": TfidfVectorizer()}, "not fitted"),
        (np.ones((80, 7)), {"vectorizer": TfidfVectorizer().fit(TEXTS)}, "12 names, expected 7"),
    ],
)
def test_bad_arguments_of_fit(X, options, message):
    with pytest.raises(ValueError, match=message):
        SWNNClassifier().fit(X, Y, **options)


def test_a_model_of_rows_refuses_texts(both):
    with pytest.raises(ValueError, match="fitted without a vectorizer"):
        both[1].predict_topk(QUERIES)


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [
        ("analysis", "analyzer", "function"),
        ("analysis", "ngram_range", [2, 1]),
        ("analysis", "ngram_range", [1, 10**9]),
        ("analysis", "ngram_range", 3),
        ("analysis", "token_pattern", "("),
        ("analysis", "token_pattern", "(a)(b)"),
        ("analysis", "token_pattern", "a" * 2000),
        ("analysis", "stop_words", [1]),
        ("analysis", "lowercase", "yes"),
        ("analysis", "depth", 1),
        ("weighting", "norm", "max"),
        ("weighting", "sublinear_tf", None),
    ],
)
def test_forged_settings_are_refused(both, tmp_path, part, field, value):
    stored = open_arrays(both[3])
    text = stored.meta["text"]
    forged = stored.meta | {"text": text | {part: text[part] | {field: value}}}
    save_arrays(tmp_path, stored.arrays, forged, dict(stored.names))
    with pytest.raises(StoreError):
        swnn_xp.load(tmp_path)


@pytest.mark.parametrize("settings", [None, [], "text", {}, {"analysis": {}, "weighting": []}])
def test_settings_of_another_shape_are_refused(both, tmp_path, settings):
    stored = open_arrays(both[3])
    save_arrays(tmp_path, stored.arrays, stored.meta | {"text": settings}, dict(stored.names))
    with pytest.raises(StoreError):
        swnn_xp.load(tmp_path)


@pytest.mark.parametrize(
    "idf", [np.ones(3), np.full(12, np.nan), np.full(12, -1.0), np.ones(12, np.int64)]
)
def test_a_forged_idf_is_refused(both, tmp_path, idf):
    stored = open_arrays(both[3])
    save_arrays(tmp_path, dict(stored.arrays) | {"text_idf": idf}, stored.meta, dict(stored.names))
    with pytest.raises(StoreError, match="text_idf"):
        swnn_xp.load(tmp_path)


def test_missing_and_repeated_terms_are_refused(both, tmp_path):
    stored = open_arrays(both[3])
    names = dict(stored.names)
    repeated = names | {"feature_names": ["same"] * 12}
    save_arrays(tmp_path / "repeated", stored.arrays, stored.meta, repeated)
    with pytest.raises(StoreError, match="the same name"):
        swnn_xp.load(tmp_path / "repeated", verify=True)
    del names["feature_names"]
    save_arrays(tmp_path / "missing", stored.arrays, stored.meta, names)
    with pytest.raises(StoreError, match="feature_names"):
        swnn_xp.load(tmp_path / "missing")


def test_label_uris(both, tmp_path):
    clf = swnn_xp.load(both[3])
    assert clf.label_uris_ is None
    with pytest.raises(ValueError, match="2 names, expected 3"):
        clf.set_label_uris(["a", "b"])
    clf.set_label_uris(["u:0", "u:1", "u:2"]).save(tmp_path)
    again = swnn_xp.load(tmp_path)
    assert (again.label_uris_, again.label_names_) == (["u:0", "u:1", "u:2"], LABELS)
    again.partial_fit(QUERIES[:1], [[0, 0, 0, 1]], label_names=[*LABELS, "new"])
    assert again.label_uris_ == ["u:0", "u:1", "u:2", "new"]
