"""A handle's jobs at a running service."""

from __future__ import annotations

import contextlib

from cactus_actors.client import Client
from cactus_actors.models.catalog import resolve_model
from cactus_actors.protocol.errors import CactusError, JobNotFound, NotSupported
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.results import Result
from cactus_actors.sdk.backend import OnDelta
from cactus_actors.text import TextModel, load_text_model


class RemoteBackend:
    """The service whose jobs endpoint is `tcp://HOST:PORT`; raises Unavailable if nothing answers there."""

    def __init__(self, jobs_endpoint: str, stream_endpoint: str | None) -> None:
        self._client = Client(jobs_endpoint, stream_endpoint)
        try:
            status = self._client.status()
        except BaseException:
            self._client.close()
            raise
        self.model = status.model
        self.max_context = status.max_context
        self._job_id: str | None = None
        self._text: TextModel | None = None

    def run(self, submit: Submit, on_delta: OnDelta | None) -> Result:
        self._job_id = submit.job_id
        try:
            with self._client.follow(submit) as stream:
                for delta in stream:
                    if on_delta is not None:
                        on_delta(delta)
                return stream.result()
        except CactusError as error:
            if error.result is None:
                raise
            return error.result
        finally:
            self._job_id = None

    def stop(self) -> None:
        if (job_id := self._job_id) is not None:
            with contextlib.suppress(JobNotFound):  # not there yet, or already ended
                self._client.cancel(job_id)

    def encode(self, text: str) -> list[int]:
        if self._text is None:
            try:
                self._text = load_text_model(resolve_model(self.model))
            except CactusError as error:
                raise NotSupported(
                    f"the tokenizer of the service's model is not here: {error.message}", param="text"
                ) from error
        return self._text.tokenizer.encode(text, add_special=False)

    def close(self) -> None:
        self._client.close()
