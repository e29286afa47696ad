"""A handle's jobs in this process, one at a time."""

from __future__ import annotations

import threading

from cactus_actors.config import HandoffSettings
from cactus_actors.protocol.errors import error_from_info
from cactus_actors.protocol.messages import Cancel, Delta, Finished, Rejected, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import Result
from cactus_actors.sdk.backend import OnDelta
from cactus_actors.sdk.engine_choice import EngineChoice
from cactus_actors.sdk.local_service import LocalService


class LocalBackend:
    """A model in this process; the cloud is added with the first job that may be handed off.

    Raises ModelFileInvalid and ConfigurationInvalid.
    """

    def __init__(self, choice: EngineChoice, handoff: HandoffSettings) -> None:
        self._must_stop = threading.Event()
        self._on_delta: OnDelta | None = None
        self._answer: Finished | Rejected | None = None
        self.service = LocalService(choice, handoff, self._on_message)

    @property
    def model(self) -> str:
        return self.service.text.name

    @property
    def max_context(self) -> int:
        return self.service.max_context

    def run(self, submit: Submit, on_delta: OnDelta | None) -> Result:
        self._must_stop.clear()
        self._answer, self._on_delta = None, on_delta
        if _may_go_to_cloud(submit.options):
            self.service.join_cloud()
        if on_delta is not None:
            self.service.subscribe(submit.job_id)
        try:
            self.service.send(submit)
            answer = self._run_until_answered(submit.job_id)
        except BaseException as error:  # from on_delta, or an interrupt
            self._on_delta = None
            self.service.send(Cancel(job_id=submit.job_id))
            if not isinstance(error, Exception):
                # It may have interrupted a step: reset the worker.
                self.service.restart_worker()
            raise
        finally:
            self.service.unsubscribe(submit.job_id)
        if isinstance(answer, Rejected):
            raise error_from_info(answer.error)
        return answer.result

    def stop(self) -> None:
        self._must_stop.set()

    def encode(self, text: str) -> list[int]:
        return self.service.text.tokenizer.encode(text, add_special=False)

    def close(self) -> None:
        self.service.close()

    def _run_until_answered(self, job_id: str) -> Finished | Rejected:
        """Run worker and router alternately until the job has an answer."""
        while (answer := self._answer) is None:
            if self._must_stop.is_set():
                self.service.send(Cancel(job_id=job_id))
                continue
            self.service.step()
        return answer

    def _on_message(self, message: Delta | Finished | Rejected) -> None:
        if not isinstance(message, Delta):
            self._answer = message
        elif self._on_delta is not None:
            self._on_delta(message)


def _may_go_to_cloud(options: Options) -> bool:
    return options.allow_cloud is not False and bool(options.cloud_handoff_threshold or options.max_entropy)
