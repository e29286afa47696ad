"""What can keep a prompt file from being run to its end; each names the file."""

from __future__ import annotations

from cactus_actors.protocol.errors import ConfigurationInvalid


class InputInvalid(ConfigurationInvalid):
    """The input cannot be read as prompts at all."""

    type = "input_invalid"


class InputChanged(InputInvalid):
    """The input, or the model, is not the one that the unfinished run began with."""

    type = "input_changed"


class OptionsChanged(InputChanged):
    """The options are not those that the unfinished run began with; the input may well be."""

    type = "options_changed"


class OutputRefused(ConfigurationInvalid):
    """Writing there would destroy something, or is not possible."""

    type = "output_refused"


class OutputLocked(OutputRefused):
    """Another run is writing to this output."""

    type = "output_locked"


class OutputFailed(ConfigurationInvalid):
    """The disk refused to take what was written; what was claimed done is kept, the run can be resumed."""

    type = "output_failed"
