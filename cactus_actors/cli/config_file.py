"""The configuration of a command from its --config file and its options."""

from __future__ import annotations

from pathlib import Path

from cactus_actors.config import ServeConfig
from cactus_actors.config_reading import make_config, read_config_file
from cactus_actors.protocol.errors import ConfigurationInvalid


def config_of(file: Path | None, options: dict[str, object]) -> ServeConfig:
    """The settings of the file under those of the options; raises ConfigurationInvalid.

    Only the file can have a section `[handoff]`, so errors in it name the file.
    """
    if file is None:
        return make_config(options)
    from cactus_actors.handoff.settings_check import check_handoff

    config = make_config(read_config_file(file), options)
    try:
        check_handoff(config.handoff)
    except ConfigurationInvalid as error:
        raise ConfigurationInvalid(f"{file}: {error.message}", param=error.param) from None
    return config
