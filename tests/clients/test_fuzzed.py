"""`schemathesis` with the OpenAPI document: valid requests have documented answers, invalid ones are refused."""

from __future__ import annotations

from typing import Any

import pytest

from cactus_actors.gateway.openapi.document import document
from tests.support.services.real_service import RealService

schemathesis = pytest.importorskip("schemathesis", reason="the extra `clients` is not installed")
from hypothesis import HealthCheck, given, settings  # noqa: E402
from schemathesis import openapi  # noqa: E402
from schemathesis.generation import GenerationMode  # noqa: E402
from schemathesis.specs.openapi import checks as openapi_checks  # noqa: E402

MAX_TOKENS = 8
NUM_EXAMPLES = 20
OPERATIONS = [found.ok() for found in openapi.from_dict(document()).get_all_operations()]
CHECKS = [
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_schema_conformance,
]
# A valid request may be refused: fields exclude each other, ids name nothing. An invalid one is never
# accepted.
CHECKS_OF_MODES = {
    GenerationMode.POSITIVE: CHECKS,
    GenerationMode.NEGATIVE: [*CHECKS, openapi_checks.negative_data_rejection],
}


def takes_json(operation: Any) -> bool:
    """True if the operation has a body that can be invalid; paths and form fields accept any text."""
    return any(body.media_type == "application/json" for body in operation.body)


@pytest.mark.parametrize(
    ("operation", "mode"),
    [
        pytest.param(operation, mode, id=f"{operation.label} {mode.value}")
        for operation in OPERATIONS
        for mode in CHECKS_OF_MODES
        if mode is GenerationMode.POSITIVE or takes_json(operation)
    ],
)
def test_an_operation_conforms_to_the_document(service: RealService, operation: Any, mode: Any) -> None:
    @settings(
        max_examples=NUM_EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[*HealthCheck],
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        shorten(case.body)
        response = case.call(base_url=service.url, timeout=60)
        if response.status_code != 504 or "timeout_ms" not in str(case.body):
            assert response.status_code < 500, response.text
        case.validate_response(response, checks=CHECKS_OF_MODES[mode])

    ask()


def shorten(body: Any) -> None:
    """Shorten the jobs of valid requests."""
    if isinstance(body, dict):
        for name in ("max_tokens", "max_completion_tokens", "n_predict"):
            value = body.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value > MAX_TOKENS:
                body[name] = MAX_TOKENS
