"""The defaults of each API, and the limits that only some of them have."""

from __future__ import annotations

import msgspec

from cactus_actors.protocol.options import ProfileName


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """Defaults of absent options, and limits that are stricter than the widest range.

    With `refuses_overlong` a given `max_tokens` that does not fit the context is an error instead of being
    cut to it. `tells_model_length` gives the context's end a finish reason of its own.
    `text_offset_from_prompt` counts the offsets of log probabilities from the prompt's start, echoed or not.
    """

    max_tokens: int
    temperature: float
    top_p: float
    top_k: int
    min_p: float = 0.0
    repeat_penalty: float = 1.0
    tool_rag_top_k: int = 0
    max_temperature: float = 2.0
    max_stop_sequences: int = 32
    max_logprobs: int = 20
    refuses_overlong: bool = False
    tells_model_length: bool = False
    text_offset_from_prompt: bool = False


_LLAMACPP = Profile(max_tokens=-1, temperature=0.8, top_p=0.95, top_k=40, min_p=0.05, repeat_penalty=1.1)

PROFILES: dict[ProfileName, Profile] = {
    "cactus": Profile(max_tokens=512, temperature=0.6, top_p=0.95, top_k=20, tool_rag_top_k=5),
    "mistral": Profile(
        max_tokens=512,
        temperature=0.6,
        top_p=1.0,
        top_k=0,
        refuses_overlong=True,
        tells_model_length=True,
    ),
    "llamacpp": _LLAMACPP,
    "llamacpp-strict": msgspec.structs.replace(_LLAMACPP, max_logprobs=5),
    "cerebras": Profile(
        max_tokens=-1,
        temperature=1.0,
        top_p=1.0,
        top_k=0,
        max_temperature=1.5,
        max_stop_sequences=4,
        text_offset_from_prompt=True,
    ),
}
