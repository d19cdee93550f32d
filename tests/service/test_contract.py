"""The API does what its OpenAPI document says, for requests nobody thought of. A bounded, repeatable run."""

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings

from ocr_app.service.keys import Role
from tests.service.test_api import ended, send

# a body may be refused before its kind is looked at, so only what a client relies on is checked
CHECKS = [schemathesis.checks.not_a_server_error]


def test_no_request_ends_in_a_server_error(serve):
    running = serve(auth="on", rate_limit="100000/minute")
    client = running.client(Role.ADMIN, "contract")
    ended(client, send(client, "a", 2).json())
    schema = schemathesis.openapi.from_dict(client.get("/v1/openapi.json").json())
    num_asked = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path in ("/livez", "/readyz") or operation.path.endswith("/events"):
            continue

        @settings(
            max_examples=6,
            deadline=None,
            phases=[Phase.generate],
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def ask(case):
            nonlocal num_asked
            num_asked += 1
            answer = case.call(base_url=running.url, headers=dict(client.headers), timeout=10)
            case.validate_response(answer, checks=CHECKS)

        ask()
    assert num_asked > 50
    assert client.get("/readyz").status_code in (200, 503)
