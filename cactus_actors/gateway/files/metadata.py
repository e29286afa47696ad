"""Limits on metadata of batches and names of files."""

from __future__ import annotations

import unicodedata

from cactus_actors.protocol.errors import InvalidRequest

MAX_PAIRS = 16
MAX_KEY_LENGTH = 64
MAX_VALUE_LENGTH = 512
MAX_FILE_NAME_BYTES = 255


def check_metadata(metadata: dict[str, str] | None) -> None:
    """Raise InvalidRequest for more pairs, or longer ones (in characters), than OpenAI takes."""
    if metadata is None:
        return
    if len(metadata) > MAX_PAIRS:
        raise InvalidRequest(f"metadata has more than {MAX_PAIRS} pairs", param="metadata")
    for key, value in metadata.items():
        if len(key) > MAX_KEY_LENGTH:
            raise InvalidRequest(f"a key of metadata has more than {MAX_KEY_LENGTH} characters", param="metadata")
        if len(value) > MAX_VALUE_LENGTH:
            raise InvalidRequest(f"metadata.{key} has more than {MAX_VALUE_LENGTH} characters", param=f"metadata.{key}")


def check_file_name(name: str) -> None:
    """Raise InvalidRequest for a name that is too long in UTF-8 or has control characters."""
    if len(name.encode(errors="replace")) > MAX_FILE_NAME_BYTES:
        raise InvalidRequest(f"the file's name has more than {MAX_FILE_NAME_BYTES} bytes", param="file")
    if any(unicodedata.category(character) == "Cc" for character in name):
        raise InvalidRequest("the file's name has control characters", param="file")
