"""The same records get the same bits from the command line, over HTTP and in Python."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from starlette.testclient import TestClient

from swnn_xp import SWNNClassifier, SWNNRanker
from swnn_xp.cli.main import main
from swnn_xp.serve.app import create_app
from swnn_xp.serve.service import Service

N_FEATURES, N_RECORDS = 60, 300
NAMES = [f"f{i}" for i in range(N_FEATURES - 1)] + ["f0"]  # the first of equal names is meant


def rows_of(rng, n):
    X = sp.random_array((n, N_FEATURES), density=0.1, rng=rng, format="lil")
    return sp.csr_array(X)


@pytest.fixture(scope="module", params=["published", "ranker", "weights"])
def model(request, tmp_path_factory):
    rng = np.random.default_rng(3)
    X = rows_of(rng, 400)
    y = sp.csr_array((X @ rng.random((N_FEATURES, 12)) > np.median(X.sum(axis=1)) / 2).astype(int))
    clf = {
        "published": SWNNClassifier(),
        "weights": SWNNClassifier(alpha=0.7, beta=0.4),
        "ranker": SWNNRanker(),
    }[request.param]
    weights = {"feature_weights": rng.random(N_FEATURES)} if request.param == "weights" else {}
    clf.fit(X, y, feature_names=NAMES, **weights)
    folder = tmp_path_factory.mktemp(request.param) / "model"
    clf.save(folder)
    return folder, clf


def odd_values(rng, n):
    """Values that float32 has not, whole numbers, exponents, zeros and negative ones."""
    kinds = [
        lambda: float(rng.random()),
        lambda: int(rng.integers(1, 9)),
        lambda: float(rng.random() * 10.0 ** rng.integers(-12, 13)),
        lambda: 0.0,
        lambda: 0,
        lambda: 0.1,
        lambda: 2**53 + 1,
    ]
    return [kinds[rng.integers(len(kinds))]() for _ in range(n)]


def records(seed=5):
    """Records in all forms: unsorted, with repeats, by name and by number."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(N_RECORDS):
        size = int(rng.integers(0, 9))
        at = [int(i) for i in rng.integers(0, N_FEATURES - 1, size)]
        values = odd_values(rng, size)
        form = number % 4
        if form == 0:
            found.append({"indices": at, "values": values})
        elif form == 1:
            found.append({"indices": at})
        elif form == 2:
            pairs = zip((NAMES[i] for i in at), values, strict=True)
            found.append({"features": dict(pairs) | {"no such name": 1.5}})
        else:
            found.append({"features": [NAMES[i] for i in at]})
    return found


def dense(record):
    """What Python makes of a record: a row of float64."""
    row = np.zeros(N_FEATURES)
    if "indices" in record:
        values = record.get("values", [1.0] * len(record["indices"]))
        pairs = zip(record["indices"], values, strict=True)
    elif isinstance(record["features"], dict):
        pairs = ((NAMES.index(f), v) for f, v in record["features"].items() if f in NAMES)
    else:
        pairs = ((NAMES.index(f), 1.0) for f in record["features"])
    for index, value in pairs:
        row[index] += float(value)
    return row


def by_cli(folder, given, tmp_path, capsys):
    path = tmp_path / "new.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in given))
    assert main(["predict", str(folder), str(path), "--format", "jsonl"]) == 0
    lines = capsys.readouterr().out.splitlines()
    return [(found["labels"], found["scores"]) for found in map(json.loads, lines)]


def by_http(client, given):
    answer = client.post("/v1/predict", json={"rows": given})
    assert answer.status_code == 200, answer.text
    return [(row["labels"], row["scores"]) for row in answer.json()["rows"]]


def test_command_line_http_and_python_agree(model, tmp_path, capsys):
    folder, clf = model
    given = records()
    ranked = clf.predict_topk(np.stack([dense(record) for record in given]), k=5)
    python = [
        ([*labels[labels >= 0].tolist()], scores[labels >= 0].tolist())
        for labels, scores in zip(ranked.labels, ranked.scores, strict=True)
    ]
    assert sum(bool(labels) for labels, _ in python) > N_RECORDS / 2
    client = TestClient(create_app(Service(folder)))
    assert by_http(client, given[:50]) == python[:50]
    assert [by_http(client, [record])[0] for record in given] == python
    assert by_cli(folder, given, tmp_path, capsys) == python


NULLS = [
    ({"indices": [1], "values": None}, {"indices": [1]}),
    ({"indices": None, "values": None, "features": ["f1"], "text": None}, {"features": ["f1"]}),
]


@pytest.mark.parametrize(("record", "plain"), NULLS)
def test_null_is_missing(model, tmp_path, capsys, record, plain):
    folder, _ = model
    client = TestClient(create_app(Service(folder)))
    assert by_http(client, [record]) == by_http(client, [plain])
    assert by_cli(folder, [record], tmp_path, capsys) == by_http(client, [plain])


BAD = [
    ({"indices": None}, "has neither features nor a list of indices"),
    ({"indices": [1, N_FEATURES]}, f"feature {N_FEATURES} is outside"),
    ({"indices": [1], "values": []}, "has 1 indices and 0 values"),
    ({"indices": [1, 1], "values": [1e308, 1e308]}, "sum up to infinity"),
    ({"indices": [1], "features": ["f1"]}, "has both features and indices"),
    ({"text": "a", "features": ["f1"]}, "has both a text and features"),
    ({"features": [1]}, "features must be names, not 1"),
    ({"values": [1]}, "has neither features nor a list of indices"),
    ({}, "has neither features nor a list of indices"),
]


@pytest.mark.parametrize(("record", "message"), BAD)
def test_and_refuse_the_same_records_in_the_same_words(model, tmp_path, capsys, record, message):
    folder, _ = model
    answer = TestClient(create_app(Service(folder))).post("/v1/predict", json={"rows": [record]})
    assert answer.status_code == 422
    said = answer.json()["error"].removeprefix("row 0: ")
    assert message in said
    path = tmp_path / "new.jsonl"
    path.write_text(json.dumps(record) + "\n")
    assert main(["predict", str(folder), str(path)]) == 2
    assert f"new.jsonl:1: {said}" in capsys.readouterr().err
