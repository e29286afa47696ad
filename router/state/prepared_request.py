"""A request after its preparation."""

from __future__ import annotations

from typing import Any

import msgspec

from cactus_actors.api.params import JobPolicy
from cactus_actors.protocol.block_hashes import PictureSpan
from cactus_actors.protocol.messages import Task
from cactus_actors.protocol.pictures import PreparedPicture
from cactus_actors.protocol.results import Source
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import CloudRequest
from cactus_actors.router.state.encoded_picture import SelfContainedRequest


class PreparedRequest(msgspec.Struct, frozen=True, array_like=True):
    """A valid request, ready to run; `block_hashes` chain over the full blocks of the prompt.

    `prompt_text` precedes the answer. `tool_markup` is set if the answer may have calls, or marks around its text; they
    are calls of `tools`, or of the request's tools if that is None, and with `single_call` only the first counts.
    `cloud_refusal` is the reason why the job cannot go to a cloud; the policy then forbids it, too. `ends_context`:
    `max_tokens` was limited by the context, and the API reports that (`model_length`). `sources` are the documents in
    the prompt, `pictures` its pictures, whose placeholders are at `picture_spans`. `self_contained` is the request for
    a journal, if pictures were read for it; it is dropped when the job is accepted. `tiers` are the later models of a
    cascade, with the request prepared for each.
    """

    prompt_ids: list[int]
    params: SamplingParams
    policy: JobPolicy
    request: CloudRequest
    model: str
    block_hashes: tuple[int, ...] = ()
    task: Task = "generate"
    choice: int = 0
    grammar: str = ""
    tool_markup: str | None = None
    single_call: bool = False
    selected_tools: list[str] | None = None
    sources: tuple[Source, ...] = ()
    prompt_text: str | None = None
    cloud_refusal: str | None = None
    ends_context: bool = False
    tools: list[dict[str, Any]] | None = None
    pictures: list[PreparedPicture] = []
    picture_spans: tuple[PictureSpan, ...] = ()
    self_contained: SelfContainedRequest | None = None
    tiers: list[PreparedTier] = []

    @property
    def readable_tools(self) -> list[dict[str, Any]]:
        """The tools that the answer may call."""
        return self.tools or self.request.tools or []


class PreparedTier(msgspec.Struct, frozen=True, array_like=True):
    """A request as it is prepared for the model of that name."""

    model: str
    prepared: PreparedRequest
