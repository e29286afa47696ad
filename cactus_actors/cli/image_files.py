"""Pictures of the command line: files that are sent with the request, so that the service need not see them."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path

from cactus_actors.protocol.errors import InvalidRequest


def pictures_of_files(paths: list[Path]) -> list[bytes]:
    """The contents of the files; raises InvalidRequest for one that cannot be read or sent."""
    from cactus_actors.client.picture_files import picture_of_file

    try:
        return [picture_of_file(path.expanduser()) for path in paths]
    except InvalidRequest as error:
        raise type(error)(error.message, param="image") from None


def typed_path(text: str) -> Path:
    """The path of a file that a user has typed or dropped at a prompt: as it is, or quoted as for a shell."""
    path = Path(text)
    with contextlib.suppress(OSError):  # a name that is too long
        if path.expanduser().exists():
            return path
    try:
        words = shlex.split(text)
    except ValueError:  # an apostrophe of the name
        return path
    return Path(words[0]) if len(words) == 1 else path
