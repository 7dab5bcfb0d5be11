"""What the service answers is what the classifier answers, and what it refuses."""

import json
import re

import numpy as np
import pytest
from starlette.testclient import TestClient

from swnn_xp.serve import Limits, Service, create_app

from .conftest import FEATURES, LABELS, PATIENCE, TOKEN


def rows_of(X):
    return [
        {"indices": X[[i]].indices.tolist(), "values": X[[i]].data.tolist()}
        for i in range(X.shape[0])
    ]


def test_one_row_and_many(client, named):
    _, clf, X = named
    best = clf.predict_topk(X[:20], k=3)
    answer = client.post("/v1/predict", json={"rows": rows_of(X[:20]), "k": 3}).json()
    assert answer["model"] == 1
    for row, labels, scores in zip(answer["rows"], best.labels, best.scores, strict=True):
        assert row["labels"] == labels[labels >= 0].tolist()
        assert row["scores"] == scores[labels >= 0].tolist()
        assert row["names"] == [LABELS[label] for label in row["labels"]]
        assert "unknown" not in row
    single = client.post("/v1/predict", json={"rows": rows_of(X[:1]), "k": 3}).json()
    assert single["rows"] == answer["rows"][:1]


def test_five_labels_and_values_of_one_are_the_default(client, named):
    _, clf, _ = named
    answer = client.post("/v1/predict", json={"rows": [{"indices": [1, 2]}]}).json()
    x = np.zeros((1, 8))
    x[0, [1, 2]] = 1
    labels = clf.predict_topk(x, k=5).labels[0]
    assert answer["rows"][0]["labels"] == labels[labels >= 0].tolist()


@pytest.mark.parametrize(
    ("row", "same"),
    [
        ({"indices": [5, 1, 5], "values": [1, 2, 3]}, {"indices": [1, 5], "values": [2, 4]}),
        ({"indices": [1, 2], "values": [1, 0]}, {"indices": [1], "values": [1]}),
        ({"features": ["blue", "green"]}, {"indices": [1, 2]}),
        ({"features": ["blue", "green", "blue"]}, {"indices": [1, 2], "values": [1, 2]}),
        ({"features": {"blue": 0.5, "ünïcode": -1}}, {"indices": [2, 4], "values": [0.5, -1]}),
        ({"features": ["", "7"]}, {"indices": [6, 7]}),
    ],
)
def test_ways_to_say_the_same(client, row, same):
    one, other = (
        client.post("/v1/predict", json={"rows": [each]}).json()["rows"][0] for each in (row, same)
    )
    assert one.pop("unknown", []) == []
    assert one == other


def test_unknown_words_are_reported(client):
    row = {"features": ["blue", "teal", "Blue"]}
    answer = client.post("/v1/predict", json={"rows": [row, {"features": ["x"]}]}).json()
    assert answer["rows"][0]["unknown"] == ["teal", "Blue"]
    assert answer["rows"][0]["labels"]
    empty = {"labels": [], "scores": [], "probabilities": [], "names": [], "unknown": ["x"]}
    assert answer["rows"][1] == empty


def test_explain(client, named):
    _, clf, X = named
    question = {"rows": rows_of(X[:2]), "k": 2, "explain": True}
    answer = client.post("/v1/predict", json=question).json()
    for i, row in enumerate(answer["rows"]):
        for label, explained in zip(row["labels"], row["explain"], strict=True):
            expected = clf.explain(X[[i]], label)
            assert explained["name"] == expected.name == LABELS[label]
            assert explained["probability"] == expected.probability
            assert [v["row"] for v in explained["voters"]] == [v.row for v in expected.voters]
            first = expected.voters[0].features[0]
            assert explained["voters"][0]["features"][0]["name"] == first.name in FEATURES


def test_a_model_without_names(nameless):
    client = TestClient(create_app(Service(nameless[0])))
    assert client.get("/v1/model").json()["feature_names"] is False
    answer = client.post("/v1/predict", json={"rows": [{"indices": [1]}]}).json()
    assert "names" not in answer["rows"][0]
    refused = client.post("/v1/predict", json={"rows": [{"features": ["red"]}]})
    assert refused.status_code == 422
    assert refused.json() == {
        "error": "row 0: feature 'red' is not a number; the model has no feature names"
    }


ONE = {"indices": [1]}
BIG = {"indices": [0] * 31}
REFUSED = [
    (b"", 400, "not JSON"),
    (b"{", 400, "not JSON"),
    (b"\xff", 400, "not JSON"),
    (b'{"rows": [{"indices": [1], "values": [1e999]}]}', 422, "out of range"),
    (b"[" * 15_000, 422, "Expected `object`"),
    (b'{"rows": ' + b"[" * 15_000, 422, "Expected `object`"),
    (b'{"x":' * 3_000, 422, "unknown field"),
    ([], 422, "Expected `object`"),
    ({"rows": []}, 422, "length >= 1"),
    ({"rows": [{}]}, 422, "row 0: has neither"),
    ({"rows": [ONE], "k": 0}, 422, ">= 1"),
    ({"rows": [ONE], "k": 101}, 422, "k is 101"),
    ({"rows": [ONE], "k": True}, 422, "Expected `int`"),
    ({"rows": [ONE], "K": 3}, 422, "unknown field `K`"),
    ({"rows": [ONE] * 51}, 422, "51 rows"),
    ({"rows": [ONE] * 21, "explain": True}, 422, "105 labels to explain"),
    ({"rows": [ONE, {"indices": [8]}]}, 422, "row 1: feature 8 is outside 0..7"),
    ({"rows": [{"indices": [-1]}]}, 422, ">= 0"),
    ({"rows": [{"indices": [2**31]}]}, 422, "<="),
    ({"rows": [{"indices": [2**70]}]}, 422, ""),
    ({"rows": [{"indices": [1.5]}]}, 422, "Expected `int`"),
    ({"rows": [{"indices": [1], "values": [1, 2]}]}, 422, "row 0: has 1 indices and 2 values"),
    ({"rows": [{"values": [1]}]}, 422, "row 0: has neither"),
    ({"rows": [{"indices": [1], "features": ["red"]}]}, 422, "row 0: has both"),
    ({"rows": [{"indices": [1, 1], "values": [1e308, 1e308]}]}, 422, "infinity"),
    ({"rows": [BIG]}, 422, "31 features, at most 30"),
    ({"rows": [{"features": ["red"] * 31}]}, 422, "31 features, at most 30"),
    ({"rows": [{"features": "red"}]}, 422, ""),
]


@pytest.mark.parametrize(("body", "status", "why"), REFUSED)
def test_refused(client, body, status, why):
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    response = client.post(
        "/v1/predict", content=text, headers={"content-type": "application/json"}
    )
    assert response.status_code == status, response.text
    assert list(response.json()) == ["error"]
    assert why in response.json()["error"]


def test_refused_by_kind_and_length(client):
    kind = {"content-type": "text/plain"}
    assert client.post("/v1/predict", content=b"{}", headers=kind).status_code == 415
    kind = {"content-type": "application/json; charset=utf-8"}
    assert client.post("/v1/predict", content=b" " * 20_001, headers=kind).status_code == 413

    def endless():
        for _ in range(1000):
            yield b" " * 1000

    assert client.post("/v1/predict", content=endless(), headers=kind).status_code == 413
    assert client.post("/v1/predict", json={"rows": [ONE]}).status_code == 200


def test_other_paths_and_methods(client):
    assert client.get("/nothing").json() == {"error": "Not Found"}
    refused = client.get("/v1/predict")
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")


def test_the_model_and_health(client, named):
    about = client.get("/v1/model").json()
    assert (about["rows"], about["features"], about["labels"]) == (200, 8, 4)
    assert (about["n_neighbors"], about["alpha"], about["beta"]) == (9, 1.0, 1.0)
    assert about["limits"]["rows"] == 50
    assert client.get("/healthz").json() == {"status": "ok", "model": 1}


def test_metrics(client):
    for _ in range(3):
        client.post("/v1/predict", json={"rows": [ONE, ONE]})
    client.post("/v1/predict", json={})
    client.get("/" + "x" * 50)
    text = client.get("/metrics").text
    figures = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert figures['swnn_requests_total{path="/v1/predict",status="200"}'] == "3"
    assert figures['swnn_requests_total{path="/v1/predict",status="422"}'] == "1"
    assert figures['swnn_requests_total{path="other",status="404"}'] == "1"
    bounds = [float(bound) for bound in re.findall(r'seconds_bucket{le="(.*?)"}', text)]
    assert sum(bound < 0.0005 for bound in bounds) >= 4  # most answers take less
    assert bounds == sorted(bounds)
    assert figures['swnn_predict_seconds_bucket{le="+Inf"}'] == "4"
    assert figures["swnn_predict_seconds_count"] == "4"
    assert figures["swnn_rows_total"] == "6"
    assert figures["swnn_waiting_or_running"] == "0"


def test_an_application_can_be_started_again(nameless):
    """The end of a lifespan ends the threads; the next one must not wait for them."""
    app = create_app(Service(nameless[0], limits=Limits(seconds=PATIENCE)))
    for _ in range(2):
        with TestClient(app) as client:
            assert client.post("/v1/predict", json={"rows": [ONE, ONE]}).status_code == 200


def test_reload_needs_the_token(client, named):
    wrong = ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN.encode()})
    for headers in wrong:
        assert client.post("/v1/reload", headers=headers).status_code == 401
    right = {"Authorization": f"Bearer {TOKEN}".encode()}
    assert client.post("/v1/reload", headers=right).json()["model"] == 2
    assert client.post("/v1/predict", json={"rows": [ONE]}).json()["model"] == 2


def test_without_a_token_nobody_reloads(named):
    client = TestClient(create_app(Service(named[0])))
    for headers in ({}, {"Authorization": "Bearer "}, {"Authorization": "Bearer None"}):
        assert client.post("/v1/reload", headers=headers).status_code == 403
    with pytest.raises(ValueError, match="token is empty"):
        Service(named[0], token="")


def test_a_model_that_cannot_be_opened_is_not_taken(named, tmp_path):
    from .conftest import make_model

    make_model(tmp_path / "model")
    service = Service(tmp_path / "model", token="t")
    client = TestClient(create_app(service))
    (tmp_path / "model" / "manifest.json").write_text("{}")
    refused = client.post("/v1/reload", headers={"Authorization": "Bearer t"})
    assert refused.status_code == 409
    assert "the model in use is kept" in refused.json()["error"]
    assert client.post("/v1/predict", json={"rows": [ONE]}).json()["model"] == 1


@pytest.mark.parametrize("field", ["bytes", "rows", "features", "k", "explained", "queue"])
def test_limits_are_positive(field):
    with pytest.raises(ValueError, match=f"limit of {field} must be positive"):
        Limits(**{field: 0})


@pytest.mark.parametrize("seconds", [0.0, float("inf"), float("nan")])
def test_the_limit_of_time_is_a_number_of_seconds(seconds):
    with pytest.raises(ValueError, match="limit of seconds must be positive and finite"):
        Limits(seconds=seconds)


def test_pages_load_nothing_from_elsewhere(client):
    for path in ("/", "/docs", "/static/page.js", "/static/docs.js", "/static/style.css"):
        page = client.get(path)
        assert page.status_code == 200
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert "http://" not in page.text
        assert "https://" not in page.text
        assert "innerHTML" not in page.text


def test_the_document_describes_every_route(client, service):
    document = client.get("/openapi.json").json()
    assert list(document["paths"]) == [
        "/v1/predict",
        "/annif/suggest",
        "/v1/model",
        "/v1/reload",
        "/annif",
        "/readyz",
        "/healthz",
        "/metrics",
    ]
    question = document["components"]["schemas"]["PredictRequest"]["properties"]
    assert question["rows"]["maxItems"] == 50
    assert question["k"]["maximum"] == 100
