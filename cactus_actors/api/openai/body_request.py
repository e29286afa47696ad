"""The jobs of one HTTP body."""

from __future__ import annotations

from typing import Literal

import msgspec

from cactus_actors.api.openai.reasoning_fields import ReasoningFormat
from cactus_actors.api.profiles import PROFILES
from cactus_actors.protocol.messages import Accepted, Submit
from cactus_actors.tools.call_splitter import CallSplitter

Endpoint = Literal["chat", "completion"]


class BodyRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One or more jobs, and the format of their answers.

    Choice `i` is job `submits[i]`: prompt `i // n`, choice `i % n` of it. All have one seed. `model` is as
    the request spelled it, `ignored` names the fields of the body that are not known here.
    `reasoning_format` is the place of reasoning in the response. Errors of the jobs name fields by
    `field_names`. `frames` are pictures of this machine, which each of the jobs names. `local_reason` says why the
    jobs stay local, if the request itself does not forbid the cloud.
    """

    endpoint: Endpoint
    submits: list[Submit]
    n: int = 1
    model: str | None = None
    stream: bool = False
    include_usage: bool = False
    return_raw_tokens: bool = False
    ignored: tuple[str, ...] = ()
    reasoning_format: ReasoningFormat = "apart"
    field_names: dict[str, str] = {}
    frames: list[bytes] = []
    local_reason: str | None = None

    @classmethod
    def of(cls, submit: Submit) -> BodyRequest:
        """The request for one job that did not come from a body."""
        endpoint: Endpoint = "completion" if submit.messages is None else "chat"
        return cls(endpoint=endpoint, submits=[submit], model=submit.model)

    @property
    def wants_whole_calls(self) -> bool:
        """True if this profile's clients accept no tool call in parts."""
        return self.submits[0].profile in ("mistral", "cerebras")

    @property
    def is_mistral(self) -> bool:
        """True if finish reasons and the last chunk have Mistral's form."""
        return self.submits[0].profile == "mistral"

    def call_splitter(self, choice: int, accepted: Accepted) -> CallSplitter | None:
        """Splits the stream of a choice into text and calls of its tools; None if it has no calls."""
        if accepted.tool_markup is None:
            return None
        submit = self.submits[choice]
        return CallSplitter(accepted.tool_markup, () if submit.options.tool_choice == "none" else submit.tools or ())

    def text_offset(self, choice: int) -> int:
        """First offset of the log probabilities of a text that echoes no prompt."""
        submit = self.submits[choice]
        if not PROFILES[submit.profile or "cactus"].text_offset_from_prompt:
            return 0
        return len(submit.prompt) if isinstance(submit.prompt, str) else 0
