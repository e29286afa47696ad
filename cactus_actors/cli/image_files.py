"""Pictures of the command line: files that are sent with the request, so that the service need not see them."""

from __future__ import annotations

from pathlib import Path

from cactus_actors.protocol.errors import InvalidRequest


def pictures_of_files(paths: list[Path]) -> list[bytes]:
    """The contents of the files; raises InvalidRequest for one that cannot be read or sent."""
    from cactus_actors.client.picture_files import picture_of_file

    try:
        return [picture_of_file(path.expanduser()) for path in paths]
    except InvalidRequest as error:
        raise type(error)(error.message, param="image") from None
