"""Rows of texts are scikit-learn's rows, to the last bit."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from swnn_xp.text import TextVectorizer

CORPUS = [
    "Das große Straßenfest: Äpfel, Birnen und Crème brûlée!",
    "the cat sat on the mat, the CAT sat; ＦＵＬＬ width ﬁne",
    "日本語 の テキスト です 日本語",
    "İstanbul'da ısı  \t\n  ölçümü; i̇ or I",
    "c++ x11 a b c 42 4.2e-7 under_score Ünïcödé ünïcödé",
    "",
    "наука и жизнь, наука",
]
SETTINGS = [
    {},
    {"sublinear_tf": True, "ngram_range": (1, 3)},
    {"ngram_range": (2, 2), "lowercase": False},
    {"stop_words": "english", "sublinear_tf": True, "ngram_range": (1, 2)},
    {"stop_words": ["und", "cat"], "norm": "l1"},
    {"analyzer": "char", "ngram_range": (1, 4), "strip_accents": "unicode"},
    {"analyzer": "char", "ngram_range": (3, 3), "norm": None},
    {"analyzer": "char_wb", "ngram_range": (2, 5), "sublinear_tf": True},
    {"analyzer": "char_wb", "ngram_range": (1, 2), "strip_accents": "ascii"},
    {"token_pattern": r"\S+", "use_idf": False},
    {"token_pattern": r"(\w)\w*", "binary": True},
    {"strip_accents": "unicode", "min_df": 1, "max_df": 0.9, "smooth_idf": False},
]
FITTED = [TfidfVectorizer(**each).fit(CORPUS) for each in SETTINGS]
WORDS = sorted({word for text in CORPUS for word in text.split()})
texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    st.text(st.characters(max_codepoint=127), max_size=60),
    st.lists(st.sampled_from([*WORDS, "  ", "\u0301", "ß", "İ", "\x1c", "\u2028"])).map(" ".join),
)


def assert_same(theirs, ours):
    theirs.sort_indices()
    assert theirs.shape == ours.shape
    np.testing.assert_array_equal(theirs.indptr, ours.indptr)
    np.testing.assert_array_equal(theirs.indices, ours.indices)
    np.testing.assert_array_equal(theirs.data.view(np.int64), ours.data.view(np.int64))


@pytest.mark.parametrize("fitted", FITTED, ids=map(str, SETTINGS))
@given(batch=st.lists(texts, min_size=1, max_size=5))
@settings(max_examples=25, deadline=None)
def test_any_text_gives_the_same_bits(fitted, batch):
    assert_same(fitted.transform(batch), TextVectorizer.from_sklearn(fitted).transform(batch))


@pytest.mark.parametrize("fitted", FITTED, ids=map(str, SETTINGS))
def test_the_corpus_gives_the_same_bits(fitted):
    many = [*CORPUS, " ".join(CORPUS * 40)]
    ours = pickle.loads(pickle.dumps(TextVectorizer.from_sklearn(fitted)))
    assert_same(fitted.transform(many), ours.transform(many))


def test_one_row():
    vectorizer = TextVectorizer(["chess", "game"], idf=[2.0, 1.0])
    row = vectorizer.row("game, chess, tennis")
    assert row.indices.tolist() == [0, 1]
    np.testing.assert_allclose(row.values, np.array([2, 1]) / np.sqrt(5))
    assert vectorizer.row("tennis").indices.size == 0
    assert vectorizer.transform([]).shape == (0, 2)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: TfidfVectorizer(), "not fitted"),
        (lambda: CountVectorizer().fit(CORPUS), "must be scikit-learn's TfidfVectorizer"),
        (lambda: TfidfVectorizer(tokenizer=str.split, token_pattern=None).fit(CORPUS), "tokenizer"),
        (lambda: TfidfVectorizer(preprocessor=str.upper).fit(CORPUS), "preprocessor"),
        (lambda: TfidfVectorizer(analyzer=str.split).fit(CORPUS), "analyzer is a function"),
        (lambda: TfidfVectorizer(dtype=np.float32).fit(CORPUS), "float64"),
    ],
)
def test_what_cannot_be_taken_over(made, message):
    with pytest.raises(ValueError, match=message):
        TextVectorizer.from_sklearn(made())


def test_a_text_is_a_str():
    with pytest.raises(ValueError, match="a text must be a str, not bytes"):
        TextVectorizer(["a"]).row(b"a")
