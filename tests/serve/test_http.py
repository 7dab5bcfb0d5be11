"""HTTP around the answers: HEAD, health, tokens, origins, compression, counts, the log."""

import base64
import json

import pytest
from starlette.testclient import TestClient

from swnn_xp.serve import HTTPOptions, Service, create_app
from swnn_xp.serve.security import HEADERS

from .conftest import TOKEN

ROW = {"rows": [{"features": ["red"]}]}


def client_of(path, *, reload_token=None, **options):
    service = Service(path, token=reload_token)
    app = create_app(service, HTTPOptions(**options))
    return TestClient(app, raise_server_exceptions=False)


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/v1/model", "/metrics", "/", "/docs"])
def test_head_is_get_without_a_body(client, path):
    got, head = client.get(path), client.head(path)
    assert head.status_code == got.status_code == 200
    assert head.headers["content-type"] == got.headers["content-type"]
    assert head.content == b""


def test_a_wrong_method_is_no_prediction(client):
    assert client.get("/v1/predict").status_code == 405
    assert client.put("/v1/predict").status_code == 405
    assert client.head("/v1/predict").status_code == 405
    text = client.get("/metrics").text
    assert 'swnn_requests_total{path="/v1/predict",status="405"} 3' in text
    assert "swnn_predict_seconds_count 0" in text
    client.post("/v1/predict", json=ROW)
    assert "swnn_predict_seconds_count 1" in client.get("/metrics").text


def test_every_metric_says_what_it_is(client):
    lines = client.get("/metrics").text.splitlines()
    described = [line.split()[2] for line in lines if line.startswith("# HELP ")]
    assert described == [line.split()[2] for line in lines if line.startswith("# TYPE ")]
    assert len(described) == 9
    for line in lines:
        assert line.startswith(("#", *described))


def test_ready_until_too_many_wait(client, service):
    assert client.get("/readyz").json() == {"status": "ready", "model": 1}
    service.pool.under_way = service.pool.room
    assert client.get("/readyz").status_code == 503
    assert client.get("/healthz").status_code == 200
    service.pool.under_way = 0


def basic(password):
    return "Basic " + base64.b64encode(f"anyone:{password}".encode()).decode()


@pytest.mark.parametrize(
    "path", ["/", "/docs", "/v1/model", "/metrics", "/openapi.json", "/annif", "/x"]
)
def test_a_token_for_all_routes(named, path):
    client = client_of(named[0], token="s3cret")
    for wrong in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic !"},
                  {"Authorization": "s3cret"}, {"Authorization": basic("wrong")}):  # fmt: skip
        refused = client.get(path, headers=wrong)
        assert refused.status_code == 401
        assert refused.json() == {"error": "a token is required"}
        assert "Bearer" in refused.headers["www-authenticate"]
    for right in ("Bearer s3cret", "bearer s3cret", basic("s3cret")):
        assert client.get(path, headers={"Authorization": right}).status_code in (200, 404)


def test_what_needs_no_token(named):
    client = client_of(named[0], token="s3cret")
    assert client.get("/healthz").status_code == client.head("/readyz").status_code == 200
    assert client.post("/v1/predict", json=ROW).status_code == 401
    with pytest.raises(ValueError, match="the token is empty"):
        HTTPOptions(token="")


def test_two_tokens(named):
    client = client_of(named[0], token="s3cret", reload_token=TOKEN)
    reader = {"Authorization": "Bearer s3cret"}
    owner = {"Authorization": f"Bearer {TOKEN}".encode()}
    assert client.post("/v1/reload", headers=reader).status_code == 401
    assert client.post("/v1/reload", headers=owner).json()["model"] == 2
    assert client.post("/v1/predict", json=ROW, headers=owner).status_code == 200


def test_origins(named):
    client = client_of(named[0], token="s3cret", cors_origins=("https://example.org",))
    asked = {"Origin": "https://example.org", "Access-Control-Request-Method": "POST"}
    wanted = {"Access-Control-Request-Headers": "authorization, content-type"}
    preflight = client.options("/v1/predict", headers=asked | wanted)
    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-origin"] == "https://example.org"
    other = client.options("/v1/predict", headers=asked | {"Origin": "https://example.com"})
    assert other.status_code == 400
    refused = client.post("/v1/predict", json=ROW, headers={"Origin": "https://example.org"})
    assert refused.status_code == 401
    assert refused.headers["access-control-allow-origin"] == "https://example.org"
    plain = client_of(named[0]).post("/v1/predict", json=ROW, headers=asked)
    assert "access-control-allow-origin" not in plain.headers


def test_compression(named):
    client = client_of(named[0], gzip=True)
    rows = {"rows": [{"features": ["red"]}] * 50}
    packed = client.post("/v1/predict", json=rows, headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    plain = client.post("/v1/predict", json=rows, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert packed.json() == plain.json()


def test_the_access_log(named, capsys):
    client = client_of(named[0], access_log=True)
    own = client.post("/v1/predict", json=ROW, headers={"X-Request-ID": "abc-1"})
    assert own.headers["x-request-id"] == "abc-1"
    made = client.get("/nowhere?secret=1", headers={"X-Request-ID": "two\twords"})
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["method"], line["path"], line["status"]) for line in lines] == [
        ("POST", "/v1/predict", 200),
        ("GET", "/nowhere", 404),
    ]
    assert lines[0]["request_id"] == "abc-1"
    assert lines[1]["request_id"] == made.headers["x-request-id"] != "two\twords"
    assert all(line["duration_ms"] > 0 and line["time"].endswith("+00:00") for line in lines)
    assert "x-request-id" not in client_of(named[0]).get("/healthz").headers


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"), ("GET", "/docs"), ("GET", "/static/page.js"), ("GET", "/v1/model"),
        ("GET", "/metrics"), ("GET", "/openapi.json"), ("GET", "/healthz"), ("HEAD", "/healthz"),
        ("GET", "/nowhere"), ("GET", "/v1/predict"), ("POST", "/v1/predict"),
        ("POST", "/v1/reload"), ("POST", "/annif/suggest"),
    ],
)  # fmt: skip
def test_every_response_has_security_headers(client, method, path):
    headers = client.request(method, path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"] in ("no-store", "no-cache")
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    for name in ("server", "x-powered-by"):
        assert name not in headers
    assert len(headers.get_list("content-security-policy")) == 1


def test_refusals_of_tokens_have_them_too(named):
    refused = client_of(named[0], token="s3cret").get("/v1/model")
    assert refused.status_code == 401
    assert refused.headers["x-content-type-options"] == "nosniff"


def test_so_has_an_internal_error(client, service, monkeypatch):
    def fail():
        raise RuntimeError("broken")

    monkeypatch.setattr(service, "about", fail)
    failed = client.get("/v1/model")
    assert (failed.status_code, failed.json()) == (500, {"error": "internal error"})
    for name, value in HEADERS:
        assert failed.headers.get_list(name.decode()) == [value.decode()]
