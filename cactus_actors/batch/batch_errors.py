"""Errors that end the run of a prompt file; each names the file."""

from __future__ import annotations

from cactus_actors.protocol.errors import ConfigurationInvalid


class InputInvalid(ConfigurationInvalid):
    """The input cannot be read as prompts."""

    type = "input_invalid"


class InputChanged(InputInvalid):
    """The input or the model differs from that of the unfinished run."""

    type = "input_changed"


class OptionsChanged(InputChanged):
    """The options differ from those of the unfinished run."""

    type = "options_changed"


class OutputRefused(ConfigurationInvalid):
    """The output cannot be written, or would overwrite something."""

    type = "output_refused"


class OutputLocked(OutputRefused):
    """Another run is writing to this output."""

    type = "output_locked"


class OutputFailed(ConfigurationInvalid):
    """A write failed; finished lines are kept, and the run can be resumed."""

    type = "output_failed"
