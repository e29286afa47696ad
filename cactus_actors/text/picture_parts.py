"""Contents of messages as lists of parts, for the chat templates of vision models that read nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cactus_actors.protocol.errors import TemplateInvalid
from cactus_actors.text.chat_template import ChatTemplate

_PROBE = "probe of a text"


def takes_strings(template: ChatTemplate) -> bool:
    """True if the template renders a content that is a string; it may read lists of parts, too."""
    try:
        return _PROBE in template.render([{"role": "user", "content": _PROBE}])
    except TemplateInvalid:
        return False


def with_parts(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The messages, each text as a list of one part."""
    return [
        {**message, "content": [{"type": "text", "text": content}]}
        if isinstance(content := message.get("content"), str)
        else message
        for message in messages
    ]
