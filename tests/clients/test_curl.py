"""The curl commands of the quickstart and docs/reference/http.md, unchanged except for the port."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

from tests.support.paths import ROOT
from tests.support.router.scripted_router import until
from tests.support.services.real_service import RealService
from tests.support.text.client_questions import ENDLESS

PAGES = ("docs/guide/quickstart.md", "docs/reference/http.md")
# a command and its continuation lines
COMMAND = re.compile(r"^    (curl (?:[^\n]*\\\n)*[^\n]*)$", re.M)
SHOWN = [
    pytest.param(match[1], id=f"{page}-{place}")
    for page in PAGES
    for place, match in enumerate(COMMAND.finditer((ROOT / page).read_text()))
]
DEFAULT_URL = "http://127.0.0.1:8080"

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl: apt-get install curl")


@pytest.mark.parametrize("command", SHOWN)
def test_the_documented_commands_run(service: RealService, command: str) -> None:
    assert DEFAULT_URL in command
    line = command.replace(DEFAULT_URL, service.url)
    run = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60, check=True)
    if '"stream": true' in command:
        *frames, done = re.findall(r"^data: (.*)$", run.stdout, re.M)
        assert done == "[DONE]"
        assert "error" not in [key for frame in frames for key in json.loads(frame)]
    else:
        assert "error" not in json.loads(run.stdout)


def test_both_pages_have_commands() -> None:
    assert all(COMMAND.search((ROOT / page).read_text()) for page in PAGES)


def test_ctrl_c_leaves_nothing_behind(service: RealService) -> None:
    body = json.dumps(ENDLESS)
    with subprocess.Popen(
        ["curl", "-sN", f"{service.url}/v1/completions", "--json", body], stdout=subprocess.PIPE
    ) as curl:
        assert curl.stdout is not None
        assert curl.stdout.readline().startswith(b"data: {")
        until(lambda: not service.is_idle)
        curl.terminate()
    service.becomes_idle()
