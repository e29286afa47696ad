"""Stores a prompt file from a pipe next to the output, so that the run can be resumed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import BinaryIO

from cactus_actors.batch.batch_errors import OutputFailed
from cactus_actors.batch.paths import BatchPaths, check_name, sync_directory


def keep_input(stream: BinaryIO, output: Path, *, overwrite: bool) -> Path:
    """Copy `stream` to a file and return its path; an unfinished run keeps the input that it has.

    Raises OutputRefused or OutputFailed.
    """
    check_name(output)
    path = output.with_name(f"{output.name}.input")
    paths = BatchPaths.of(path, output)
    if path.exists() and paths.journal.exists() and not overwrite:
        return path
    paths.check()  # before anything is written
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("wb") as file:
            shutil.copyfileobj(stream, file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OutputFailed(f"{path}: {error.strerror}") from None
    return path
