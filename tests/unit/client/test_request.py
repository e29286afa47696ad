"""The Submit message that a client builds from the arguments of a job."""

from __future__ import annotations

from typing import Any

import pytest

from cactus_actors.client.submit import encoded, make_submit
from cactus_actors.protocol.errors import InvalidRequest


def test_a_job_with_a_chosen_id_is_keyed() -> None:
    assert make_submit("x", job_id="0" * 32, options={}).keyed
    assert not make_submit("x", options={}).keyed


@pytest.mark.parametrize("job_id", ["", "x", "0" * 31, "A" * 32])
def test_an_invalid_job_id_is_refused(job_id: str) -> None:
    with pytest.raises(InvalidRequest, match="32 lowercase"):
        make_submit("x", job_id=job_id, options={})


@pytest.mark.parametrize(
    ("given", "param", "reason"),
    [
        ({"options": {"json_schema": {"minimum": 10**400}}}, "json_schema", "more than 64 bits"),
        ({"options": {"stop": ["\ud800"]}}, "stop", "not Unicode"),
        ({"tools": [{"name": "a", "parameters": {"maximum": 1 << 64}}]}, "tools", "more than 64 bits"),
    ],
)
def test_a_field_that_cannot_be_encoded_is_named(given: dict[str, Any], param: str, reason: str) -> None:
    with pytest.raises(InvalidRequest, match=reason) as caught:
        encoded(make_submit("a", **{"options": {}, **given}))
    assert caught.value.param == param
    assert caught.value.message.startswith(param)
