"""Errors that end the run of a prompt file; each names the file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from cactus_actors.protocol.errors import ConfigurationInvalid


class InputInvalid(ConfigurationInvalid, type="input_invalid"):
    """The input cannot be read as prompts."""


class InputChanged(InputInvalid, type="input_changed"):
    """The input or the model differs from that of the unfinished run."""


class OptionsChanged(InputChanged, type="options_changed"):
    """The options differ from those of the unfinished run."""


class OutputRefused(ConfigurationInvalid, type="output_refused"):
    """The output cannot be written, or would overwrite something."""


class OutputLocked(OutputRefused, type="output_locked"):
    """Another run is writing to this output."""


class OutputFailed(ConfigurationInvalid, type="output_failed"):
    """A write failed; finished lines are kept, and the run can be resumed."""


@contextlib.contextmanager
def naming_file(path: Path, kind: type[ConfigurationInvalid] = OutputFailed) -> Iterator[None]:
    """Raise an OSError within the context as `kind`, naming the file."""
    try:
        yield
    except OSError as error:
        raise kind(f"{path}: {error.strerror}") from None
