"""The API as its schema tells it: requests made from the schema, answers held against it."""

import pytest
from hypothesis import HealthCheck, given, settings

schemathesis = pytest.importorskip("schemathesis")

from schemathesis import GenerationMode  # noqa: E402
from schemathesis.checks import CHECKS, load_all_checks  # noqa: E402

from isogloss.service.app import ROUTERS, create_app  # noqa: E402
from isogloss.store import Store  # noqa: E402
from tests.service import data, schema_run  # noqa: E402

load_all_checks()
EXCLUDED = CHECKS.get_by_names(["ignored_auth", "object_level_authorization"])
CONFIG = schemathesis.Config.from_path(str(schema_run.CONFIG))


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    with Store(tmp_path_factory.mktemp("schema") / "news.db") as store:
        data.fill(store)
        made = data.settings(server={"names": ["testserver", "schemathesis.local"]})
        app = create_app(made, store, models=data.models())
        data.store_points(app.state.isogloss.store)
        while app.state.isogloss.neighbours.catch_up():
            pass
        yield schemathesis.openapi.from_asgi("/api/v1/openapi.json", app, config=CONFIG)
        # schemathesis may leave the application running; a thread that logs tracebacks of a closed store
        # disturbs ast.parse in other threads of Python 3.11.
        app.state.isogloss.changes.stop()
        app.state.isogloss.alerts.stop()
        app.state.isogloss.neighbours.stop()


OPERATIONS = [
    (method, route.path_format) for router in ROUTERS for route in router.routes for method in route.methods
]
QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None}


def check(case):
    if case.path == "/api/v1/changes":
        case.query = {**(case.query or {}), "seconds": 0}
    if case.path == "/api/v1/tokens" and case.method == "POST":
        return  # from the first token on, everything else would be refused
    answer = case.call_and_validate(excluded_checks=EXCLUDED)
    if answer.status_code >= 400 and case.path != "/api/v1/ready":
        assert {"code", "message"} <= set(answer.json()["error"])


def ask(api, method, path, **how):
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
        operation = api[path][method]
        if mode.is_negative and not (operation.body or operation.query or operation.path_parameters):
            continue
        settings(**how, **QUIET)(given(operation.as_strategy(generation_mode=mode))(check))()


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_answers_are_as_the_schema_says(api, method, path):
    ask(api, method, path, max_examples=6, derandomize=True)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_many_answers_are_as_the_schema_says(api, method, path):
    ask(api, method, path, max_examples=200)


def test_every_route_says_what_it_does_and_how_it_fails(api):
    told = api.raw_schema
    for path, methods in told["paths"].items():
        for method, operation in methods.items():
            where = f"{method} {path}"
            assert operation["summary"], where
            assert operation["description"], where
            problem = operation["responses"]["default"]["content"]["application/json"]["schema"]
            assert problem == {"$ref": "#/components/schemas/ErrorBody"}, where
            assert "HTTPValidationError" not in str(operation), where
            assert ("security" in operation) == (path not in ("/api/v1/health", "/api/v1/ready")), where


def test_every_shape_has_a_sentence(api):
    shapes = api.raw_schema["components"]["schemas"]
    assert [name for name, shape in shapes.items() if not shape.get("description")] == []
