"""Whatever the OpenAPI document allows or forbids: never a 500, always as documented."""

import os

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode, checks

from swnn_xp.serve import Limits, Service, create_app

from .conftest import TOKEN, make_model

EXAMPLES = int(os.environ.get("SWNN_EXAMPLES", "60"))
ANSWER_SECONDS, CLIENT_SECONDS = 60, 120  # so that the service gives up first, and says so
# A request that hangs must not be tried again to make it smaller.
PHASES = (Phase.explicit, Phase.generate)
# JSON Schema can't say that there are as many values as indices: not all that it allows is right.
checks.load_all_checks()
EXCLUDED = [checks.CHECKS.get_one("positive_data_acceptance")]


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    path = tmp_path_factory.mktemp("fuzz") / "model"
    names = {"feature_names": list("abcdefgh"), "label_names": list("wxyz")}
    make_model(path, **names)
    limits = Limits(rows=5, features=20, seconds=ANSWER_SECONDS)
    service = Service(path, token=TOKEN, limits=limits)
    return schemathesis.openapi.from_asgi("/openapi.json", create_app(service))


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_rows_of_all_kinds(api, mode):
    fuzz(api["/v1/predict"]["POST"], mode, EXAMPLES)


@pytest.mark.parametrize(
    "route",
    [
        "GET /v1/model",
        "POST /v1/reload",
        "GET /annif",
        "GET /healthz",
        "GET /readyz",
        "GET /metrics",
    ],
)
def test_routes_without_a_body(api, route):
    method, path = route.split()
    fuzz(api[path][method], GenerationMode.POSITIVE, 5)


def test_forms(api):
    fuzz(api["/annif/suggest"]["POST"], GenerationMode.POSITIVE, 10)


def fuzz(operation, mode, examples):
    @given(operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=PHASES,
        suppress_health_check=list(HealthCheck),
    )
    def check(case):
        case.call_and_validate(excluded_checks=EXCLUDED, timeout=CLIENT_SECONDS)

    check()
