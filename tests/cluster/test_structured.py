"""The examples of docs/reference/structured-output.md work against a service."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.support.text.documents import page

DOCUMENT = page("reference/structured-output.md")


def test_the_example_runs(serve_locally: Any, capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```", DOCUMENT, re.M | re.S)
    with serve_locally(workers=1) as running:
        ours = f'"{running.endpoints.jobs}", "{running.endpoints.stream}"'
        code = block.replace('"tcp://127.0.0.1:5555"', ours)
        assert code != block
        capsys.readouterr()
        exec(compile(code, "structured-output.md", "exec"), {})
        out = capsys.readouterr().out
    person, end = json.JSONDecoder().raw_decode(out)  # it may be split over several lines
    assert set(person) == {"name", "age"}
    answer, *fruits = out[end:].split()
    assert answer in ("yes", "no")
    assert re.fullmatch("(- [a-z]{3,8} ?){3}", " ".join(fruits))
