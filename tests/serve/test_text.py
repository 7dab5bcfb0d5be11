"""Texts over HTTP: models that were fitted on texts, words for the others, Annif's protocol."""

import json
import shutil

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from starlette.testclient import TestClient

from swnn_xp import SWNNClassifier, SWNNRanker
from swnn_xp.serve import Limits, Service, create_app

from .browser import CHROMIUM, open_page
from .conftest import LABELS, PATIENCE
from .test_page import ask, check_calm

TEXTS = ["Red car, c++", "a blue CAR and wheels", "red apple", "green apple tree", "the Tree"] * 8
Y = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1]] * 8)
NAMES = ["vehicle", "fruit", "plant"]
URIS = ["http://example.org/1", "http://example.org/2", "http://example.org/3"]


@pytest.fixture(scope="module", params=[SWNNClassifier, SWNNRanker])
def text_model(request, tmp_path_factory):
    """The folder of a model of texts, and the model."""
    path = tmp_path_factory.mktemp("models") / "text"
    clf = request.param(n_neighbors=5).fit(
        TEXTS, Y, label_names=NAMES, vectorizer=TfidfVectorizer(sublinear_tf=True)
    )
    clf.set_label_uris(URIS).save(path)
    return path, clf


@pytest.fixture
def text_client(text_model):
    limits = Limits(seconds=PATIENCE, features=20, k=50)
    return TestClient(create_app(Service(text_model[0], limits=limits)))


def test_texts_are_rows(text_model, text_client):
    queries = ["Red; cars and a CAR", "apple-tree", "ünknown", ""]
    body = {"rows": [{"text": text} for text in queries], "k": 3}
    answer = text_client.post("/v1/predict", json=body).json()
    best = text_model[1].topk_probabilities(queries, 3)
    unknown = [["cars", "and"], [], ["ünknown"], []]
    if "and" in text_model[1].vectorizer_.vocabulary:
        unknown[0].remove("and")
    for row, labels, scores, likely, words in zip(answer["rows"], *best, unknown, strict=True):
        there = labels >= 0
        assert row["labels"] == labels[there].tolist()
        assert row["scores"] == scores[there].tolist()
        assert row["probabilities"] == likely[there].tolist()
        assert row["names"] == [NAMES[label] for label in row["labels"]]
        assert row["unknown"] == words
    assert text_client.get("/v1/model").json()["text"] is True


@pytest.mark.parametrize(
    ("options", "unknown"),
    [
        ({}, ["yellow", "ship"]),
        ({"stop_words": ["ship"]}, ["yellow"]),
        ({"ngram_range": (1, 2)}, ["yellow", "ship"]),
        ({"ngram_range": (2, 2)}, None),
        ({"analyzer": "char_wb"}, None),
    ],
)
def test_unknown_words(tmp_path, options, unknown):
    SWNNClassifier().fit(TEXTS, Y, vectorizer=TfidfVectorizer(**options)).save(tmp_path)
    client = TestClient(create_app(Service(tmp_path)))
    answer = client.post("/v1/predict", json={"rows": [{"text": "a Yellow car, ship & yellow"}]})
    assert answer.json()["rows"][0].get("unknown") == unknown


def test_texts_are_explained(text_model, text_client):
    body = {"rows": [{"text": "Red car"}], "k": 1, "explain": True}
    row = text_client.post("/v1/predict", json=body).json()["rows"][0]
    expected = text_model[1].explain("Red car", row["labels"][0])
    assert row["explain"][0]["score"] == expected.score
    assert {feature["name"] for feature in row["explain"][0]["voters"][0]["features"]} == {
        "red",
        "car",
    }


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text": "a", "features": ["red"]}, "row 0: has both a text and features"),
        ({"text": "a", "indices": [1]}, "row 0: has both a text and features"),
        ({"text": 7}, "Expected `str | null`, got `int`"),
    ],
)
def test_refusals(text_client, row, message):
    answer = text_client.post("/v1/predict", json={"rows": [row]})
    assert answer.status_code == 422
    assert message in answer.json()["error"]


def test_words_of_a_model_of_rows(client, named):
    """Neither case nor punctuation loses a word that the model knows."""
    plain = {"rows": [{"features": ["red", "blue", "<b>bold</b>", "ünïcode"]}]}
    typed = {"rows": [{"text": "Red, (BLUE)! <b>bold</b> Ünïcode; Teal?"}]}
    theirs = client.post("/v1/predict", json=plain).json()["rows"][0]
    ours = client.post("/v1/predict", json=typed).json()["rows"][0]
    assert ours["unknown"] == ["Teal"]
    assert ours["scores"] == theirs["scores"]
    assert client.get("/v1/model").json()["text"] is False


def test_a_model_without_names_takes_no_text(nameless):
    client = TestClient(create_app(Service(nameless[0])))
    answer = client.post("/v1/predict", json={"rows": [{"text": "red"}]})
    assert answer.status_code == 422
    assert "was not fitted on texts" in answer.json()["error"]


def test_annif_suggest(text_model, text_client):
    answer = text_client.post("/annif/suggest", data={"text": "Ein red càr & car", "limit": "2"})
    best = text_model[1].topk_probabilities(["Ein red càr & car"], 2)
    there = best.labels[0] >= 0
    assert answer.json() == {
        "results": [
            {"uri": URIS[label], "label": NAMES[label], "score": likely}
            for label, likely in zip(
                best.labels[0][there].tolist(), best.probabilities[0][there].tolist(), strict=True
            )
        ]
    }
    assert text_client.post("/annif/suggest", data={"text": "red apple"}).json()["results"]
    assert text_client.post("/annif/suggest", data={"project": "x"}).json() == {"results": []}
    huge = text_client.post("/annif/suggest", data={"text": "red", "limit": "99999"})
    assert huge.status_code == 200
    assert (
        'swnn_requests_total{path="/annif/suggest",status="200"} 4'
        in text_client.get("/metrics").text
    )


def test_annif_project(text_client):
    project = text_client.get("/annif").json()
    assert project["is_trained"] is True
    assert project["modification_time"].endswith("+00:00")


@pytest.mark.parametrize(
    ("content", "media_type", "status"),
    [
        (b'{"text": "a"}', "application/json", 415),
        (b"text=%ff", "application/x-www-form-urlencoded", 422),
        (b"text=a&limit=0", "application/x-www-form-urlencoded", 422),
        (b"text=a&limit=x", "application/x-www-form-urlencoded", 422),
        (b"\xff", "application/x-www-form-urlencoded", 422),
        (b"a=1&" * 200, "application/x-www-form-urlencoded", 422),
    ],
)
def test_bad_forms(text_client, content, media_type, status):
    answer = text_client.post(
        "/annif/suggest", content=content, headers={"Content-Type": media_type}
    )
    assert answer.status_code == status
    assert answer.json()["error"]


def test_reload_brings_new_words(text_model, tmp_path):
    path = tmp_path / "model"
    shutil.copytree(text_model[0], path)
    service = Service(path)
    client = TestClient(create_app(service))
    body = {"rows": [{"text": "violin"}]}
    assert client.post("/v1/predict", json=body).json()["rows"][0]["labels"] == []
    vectorizer = TfidfVectorizer()
    SWNNClassifier().fit(["a violin"], [[1]], label_names=["music"], vectorizer=vectorizer).save(
        path
    )
    service.reload()
    assert client.post("/v1/predict", json=body).json()["rows"][0]["names"] == ["music"]


@pytest.mark.skipif(CHROMIUM is None, reason="left out: there is no Chromium")
def test_the_page_takes_texts(text_model, run, tmp_path, shot):
    served = run(text_model[0])
    with open_page(served.url, tmp_path / "profile") as page:
        page.url = served.url
        page.wait_for("document.getElementById('words-label').textContent === 'Text'")
        ask(page, "A Red, RED car!")
        page.wait_for("document.querySelectorAll('#labels > li').length > 0")
        assert page.run("document.querySelector('#labels .name').textContent") == "vehicle"
        assert page.run("message.textContent") == ""
        shot(page, f"text-{type(text_model[1]).__name__}")
        check_calm(page)


@pytest.mark.skipif(CHROMIUM is None, reason="left out: there is no Chromium")
def test_the_page_finds_words_whatever_their_case(named, run, tmp_path):
    served = run(named[0])
    with open_page(served.url, tmp_path / "profile") as page:
        page.url = served.url
        page.wait_for("about.textContent.includes('200 rows')")
        ask(page, "Red, BLUE! Teal?")
        page.wait_for("document.querySelectorAll('#labels > li').length > 0")
        assert page.run("message.textContent") == "Not known to the model: Teal."
        assert page.run("document.querySelector('#labels .name').textContent") in LABELS
        check_calm(page)


@pytest.mark.skipif(CHROMIUM is None, reason="left out: there is no Chromium")
def test_the_example_is_one_that_the_model_takes(text_model, nameless, run, tmp_path):
    for path, row in ((text_model[0], '{"text": "any words"}'), (nameless[0], '{"indices": [0]')):
        served = run(path)
        with open_page(f"{served.url}/docs", tmp_path / f"profile{len(row)}") as page:
            page.url = served.url
            page.wait_for("document.querySelectorAll('#types h2').length > 5")
            page.wait_for(f"document.getElementById('example').textContent.includes('{row}')")
            text = page.run("document.body.innerText")
            assert "not of type application/x-www-form-urlencoded (Failure)." in text
            assert ". Failure" not in text
            check_calm(page)


def test_descriptions_are_whole(text_client):
    """Each names what it describes: none begins with "of" or "that"."""
    schemas = text_client.get("/openapi.json").json()["components"]["schemas"]
    found = [
        field["description"]
        for schema in schemas.values()
        for field in schema.get("properties", {}).values()
        if "description" in field
    ]
    assert len(found) > 9
    assert not [text for text in found if text.split()[0] in ("of", "that")]


@pytest.mark.skipif(CHROMIUM is None, reason="left out: there is no Chromium")
def test_the_documents_show_code_and_the_right_address(named, run, tmp_path, shot):
    served = run(named[0])
    with open_page(f"{served.url}/docs", tmp_path / "profile") as page:
        page.url = served.url
        page.wait_for("document.querySelectorAll('#types h2').length > 5")
        assert served.url in page.run("document.getElementById('example').textContent")
        assert "`" not in page.run("document.body.textContent")
        assert page.run("document.querySelector('#types code').textContent") == "indices"
        shot(page, "docs")
        check_calm(page)


def test_json_of_a_text_is_documented(text_client):
    document = text_client.get("/openapi.json").json()
    assert "text" in document["components"]["schemas"]["Row"]["properties"]
    assert "/annif/suggest" in document["paths"]
    json.dumps(document)
