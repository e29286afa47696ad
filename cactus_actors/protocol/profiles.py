"""The defaults of each surface, and the limits that only some of them have."""

from __future__ import annotations

from typing import Literal

import msgspec

ProfileName = Literal["cactus", "mistral", "llamacpp", "cerebras"]


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What an absent option means, and what is stricter than the widest range."""

    max_tokens: int
    temperature: float
    top_p: float
    top_k: int
    min_p: float = 0.0
    repeat_penalty: float = 1.0


PROFILES: dict[ProfileName, Profile] = {
    "cactus": Profile(max_tokens=512, temperature=0.6, top_p=0.95, top_k=20),
    "mistral": Profile(max_tokens=512, temperature=0.6, top_p=1.0, top_k=0),
    "llamacpp": Profile(max_tokens=-1, temperature=0.8, top_p=0.95, top_k=40, min_p=0.05, repeat_penalty=1.1),
    "cerebras": Profile(max_tokens=-1, temperature=1.0, top_p=1.0, top_k=0),
}
