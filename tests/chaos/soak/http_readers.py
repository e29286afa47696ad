"""Readers of event streams over HTTP that lose their connection and resume after the last event."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import httpx

from tests.chaos.soak.clients import NUM_REQUESTS, request
from tests.chaos.soak.history import History

RETRY_S = 0.2


class HttpReader:
    """The endless streams of one reader, until it is asked to finish."""

    def __init__(self, name: str, url: str, history: History, chance: random.Random) -> None:
        self.name = name
        self._url = f"{url}/v1/completions"
        self._history = history
        self._chance = chance
        self.is_finishing = False

    async def run(self) -> None:
        async with httpx.AsyncClient(timeout=httpx.Timeout(30.0, read=60.0)) as http:
            while not self.is_finishing:
                await self.stream(http, self._chance.randrange(NUM_REQUESTS))

    async def stream(self, http: httpx.AsyncClient, number: int) -> None:
        """Read one answer to its end, over as many connections as needed."""
        prompt, options = request(number)
        body = {"prompt": prompt, "stream": True, **options}
        stream = f"{self._chance.getrandbits(128):032x}"
        self._history.note("sse begun", stream=stream, key=str(number), reader=self.name)
        reading = Reading({"Idempotency-Key": stream})
        while not reading.is_done:
            try:
                await reading.read(http, self._url, body)
            except httpx.TransportError:
                await asyncio.sleep(RETRY_S)
        ending = {"text": reading.text} if reading.error is None else {"error": reading.error}
        self._history.note("sse", stream=stream, key=str(number), **ending)


class Reading:
    """The state of one stream so far."""

    def __init__(self, headers: dict[str, str]) -> None:
        self._headers = headers
        self._event_id = ""
        self.text = ""
        self.error: str | None = None
        self.is_done = False

    async def read(self, http: httpx.AsyncClient, url: str, body: dict[str, Any]) -> None:
        async with http.stream("POST", url, json=body, headers=self._headers) as response:
            if response.status_code in (429, 503):
                await asyncio.sleep(RETRY_S)
                return
            if response.status_code != 200:
                self._fail(json.loads(await response.aread()))
                return
            async for line in response.aiter_lines():
                self.take(line)

    def take(self, line: str) -> None:
        if line.startswith("id: "):
            self._event_id = line.removeprefix("id: ")
        elif line == "data: [DONE]":
            self.is_done = True
        elif line.startswith("data: "):
            event = json.loads(line.removeprefix("data: "))
            if "error" in event:
                self._fail(event)
            else:
                self.text += "".join(choice["text"] for choice in event["choices"])
                if self._event_id:  # its data may not have come with it
                    self._headers["Last-Event-ID"] = self._event_id

    def _fail(self, event: dict[str, Any]) -> None:
        self.error, self.is_done = event["error"]["type"], True
