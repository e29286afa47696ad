"""A reader of one event stream that resumes after a break."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx

from tests.support.http.trust_nobody import TRUST_NOBODY


class EventReader:
    """Reads one stream of text, over as many connections as it takes."""

    def __init__(self, url: str, body: dict[str, Any], key: str) -> None:
        self.text = ""
        self.is_done = False
        self.num_connections = 0
        self._url, self._body = url, body | {"stream": True}
        self._headers = {"idempotency-key": key}

    def read(self) -> None:
        """Read until this connection ends; raises httpx.HTTPError if it breaks or is refused."""
        self.num_connections += 1
        options: dict[str, Any] = {"headers": self._headers, "timeout": 60, "verify": TRUST_NOBODY}
        with httpx.stream("POST", self._url, json=self._body, **options) as response:
            response.raise_for_status()
            for line in response.iter_lines():
                if line.startswith("id: "):
                    self._headers["last-event-id"] = line.removeprefix("id: ")
                elif line == "data: [DONE]":
                    self.is_done = True
                elif match := re.match("data: (.*)", line):
                    self._take(json.loads(match[1]))

    def _take(self, chunk: dict[str, Any]) -> None:
        if "error" in chunk:
            raise httpx.RemoteProtocolError(chunk["error"]["message"])
        self.text += chunk["choices"][0]["text"]
