"""Learned models behind HTTP: their answers, the parts of a score, the page."""

import msgspec
import numpy as np
import pytest
import scipy.sparse as sp
from starlette.testclient import TestClient

from swnn_xp import LearnedWeights, SWNNClassifier, SWNNRanker
from swnn_xp.learn.explain import RankedExplanation
from swnn_xp.serve import Limits, Service, create_app

from .browser import CHROMIUM, open_page
from .conftest import FEATURES, LABELS, PATIENCE
from .test_answers import rows_of
from .test_page import ask, check_calm

NAMES = {"feature_names": FEATURES, "label_names": LABELS}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    X = sp.random_array((300, 8), density=0.4, rng=rng, format="csr")
    return X, sp.csr_array((X @ rng.random((8, 4)) > 1.2).astype(np.int8))


@pytest.fixture(scope="module")
def ranked(rows, tmp_path_factory):
    """The folder of a ranked model, and the ranker."""
    path = tmp_path_factory.mktemp("models") / "ranked"
    clf = SWNNRanker(n_candidates=3).fit(*rows, **NAMES)
    clf.save(path)
    return path, clf


@pytest.fixture(scope="module")
def by_name(rows, tmp_path_factory):
    """The folder of a model that also finds labels by name, and the ranker."""
    path = tmp_path_factory.mktemp("models") / "by_name"
    words = np.eye(4, 8, dtype=int) + np.eye(4, 8, 1, dtype=int)
    clf = SWNNRanker(n_candidates=2).fit(*rows, **NAMES, label_features=words)
    clf.save(path)
    return path, clf


def client_of(path, **params):
    return TestClient(create_app(Service(path, limits=Limits(seconds=PATIENCE), **params)))


def test_a_ranked_model_answers(rows, ranked):
    client, (_, clf), X = client_of(ranked[0]), ranked, rows[0][:20]
    best = clf.predict_topk(X, k=3)
    answer = client.post("/v1/predict", json={"rows": rows_of(X), "k": 3}).json()
    for row, labels, scores in zip(answer["rows"], *best, strict=True):
        assert row["labels"] == labels[labels >= 0].tolist()
        assert row["scores"] == scores[labels >= 0].tolist()
        assert row["names"] == [LABELS[label] for label in row["labels"]]
    empty = client.post("/v1/predict", json={"rows": [{"indices": []}]}).json()
    assert empty["rows"][0]["labels"] == []


def test_a_service_may_have_a_cap(rows, ranked):
    client, session = client_of(ranked[0], postings=90), ranked[1].session(postings=90)
    X, exact = rows[0][:20], ranked[1].predict_topk(rows[0][:20], k=3)
    answer = client.post("/v1/predict", json={"rows": rows_of(X), "k": 3}).json()
    for i, row in enumerate(answer["rows"]):
        labels, scores = session.predict_one(X[[i]].indices, X[[i]].data, k=3)
        there = labels >= 0
        assert row["labels"] == labels[there].tolist()
        assert row["scores"] == scores[there].tolist()
    assert [row["scores"] for row in answer["rows"]] != exact.scores.tolist()


def test_the_parts_of_a_score(rows, ranked):
    client, (_, clf), X = client_of(ranked[0]), ranked, rows[0]
    question = {"rows": rows_of(X[:5]), "k": 3, "explain": True}
    answer = client.post("/v1/predict", json=question).json()
    for i, row in enumerate(answer["rows"]):
        for label, score, explained in zip(
            row["labels"], row["scores"], row["explain"], strict=True
        ):
            expected = clf.explain(X[[i]], label)
            assert explained["score"] == score == explained["vote"] + explained["model"]
            assert explained["bias"] == expected.bias
            parts = [feature["contribution"] for feature in explained["features"]]
            assert parts == [feature.contribution for feature in expected.features]
            assert explained["bias"] + sum(parts) == pytest.approx(explained["model"], abs=1e-12)
            assert all(feature["name"] in FEATURES for feature in explained["features"])
            assert [v["row"] for v in explained["voters"]] == [v.row for v in expected.voters]


def test_names_are_a_part_of_a_score(rows, by_name):
    client, (_, clf), X = client_of(by_name[0]), by_name, rows[0][:20]
    question = {"rows": rows_of(X), "k": 4, "explain": True}
    answer, seen = client.post("/v1/predict", json=question).json(), 0
    for i, row in enumerate(answer["rows"]):
        for label, score, explained in zip(
            row["labels"], row["scores"], row["explain"], strict=True
        ):
            parts, expected = explained["evidence"], clf.explain(X[[i]], label).evidence
            added = sum(part["score"] for part in parts)
            assert explained["vote"] + added + explained["model"] == score
            assert [part["name"] for part in parts] == [part.name for part in expected]
            for part in parts:
                words = {feature["name"] for feature in part["features"]}
                assert words <= {FEATURES[label], FEATURES[label + 1]}
                seen += 1
    assert seen > 5


def test_feature_weights_scale_the_queries(rows, tmp_path):
    X, Y = rows
    weights = LearnedWeights(n_neighbors=9).fit(X, Y).feature_weights_
    clf = SWNNClassifier(n_neighbors=9).fit(X, Y, feature_weights=weights)
    clf.save(tmp_path / "weighted")
    client = client_of(tmp_path / "weighted")
    assert client.get("/v1/model").json()["kind"] == "weights"
    question = {"rows": rows_of(X[:9]), "k": 2, "explain": True}
    answer = client.post("/v1/predict", json=question).json()
    for row, labels in zip(answer["rows"], clf.predict_topk(X[:9], k=2).labels, strict=True):
        assert row["labels"] == labels[labels >= 0].tolist()
        assert all("model" not in explained for explained in row["explain"])
    assert any(row["explain"] for row in answer["rows"])


def test_the_model_tells_its_kind_and_what_auto_has_become(ranked, named):
    about = client_of(ranked[0]).get("/v1/model").json()
    assert (about["kind"], about["n_neighbors"]) == ("ranking", 75)
    assert client_of(named[0]).get("/v1/model").json()["kind"] == "published"


def test_other_parameters_are_refused_at_the_start(ranked):
    with pytest.raises(ValueError, match="n_neighbors=5, but the ranker was trained with 'auto'"):
        Service(ranked[0], n_neighbors=5)


def test_the_document_has_both_explanations(rows, ranked):
    client = client_of(ranked[0])
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    items = schemas["RowPrediction"]["properties"]["explain"]["items"]["anyOf"]
    names = [item["$ref"].rpartition("/")[2] for item in items]
    assert names == ["Explanation", "RankedExplanation"]
    question = {"rows": rows_of(rows[0][:1]), "k": 1, "explain": True}
    (explained,) = client.post("/v1/predict", json=question).json()["rows"][0]["explain"]
    assert set(explained) == set(schemas["RankedExplanation"]["properties"])
    msgspec.convert(explained, RankedExplanation)  # of the types that the document is made from


@pytest.mark.skipif(CHROMIUM is None, reason="left out: there is no Chromium")
def test_the_page_shows_what_the_name_adds(run, by_name, tmp_path):
    served = run(by_name[0])
    with open_page(served.url, tmp_path / "profile") as page:
        page.url = served.url
        page.wait_for("about.textContent.includes('300 rows, 8 features, 4 labels')")
        ask(page, "red green blue")
        page.wait_for("document.querySelectorAll('#labels > li').length >= 2")
        text = page.run("document.getElementById('labels').textContent")
        assert ", names " in text
        assert "of the label’s name, the row has" in text
        check_calm(page)


@pytest.mark.skipif(CHROMIUM is None, reason="left out: there is no Chromium")
def test_the_page_shows_the_two_parts(run, rows, ranked, tmp_path):
    served = run(ranked[0])
    with open_page(served.url, tmp_path / "profile") as page:
        page.url = served.url
        page.wait_for("about.textContent.includes('300 rows, 8 features, 4 labels')")
        ask(page, "red blue")
        page.wait_for("document.querySelectorAll('#labels > li').length === 3")
        text = page.run("document.querySelector('#labels > li').innerText")
        x = np.zeros((1, 8))
        x[0, [0, 2]] = 1
        explained = ranked[1].explain(x, int(ranked[1].predict_topk(x, k=1).labels[0, 0]))
        assert f"score {explained.score:.3f} = vote" in text
        assert "model: bias" in text
        assert "of the vote" in text
        check_calm(page)
