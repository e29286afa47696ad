"""Options that are settings of a service: their descriptions, defaults and bounds are those of ServeConfig."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from typer.models import OptionInfo

from cactus_actors.config import ServeConfig
from cactus_actors.config_fields import config_fields
from cactus_actors.config_models import CacheFormat, WeightFormat

MODEL, STATE = "Model", "State and logs"
"""Headings in the help."""


def setting(
    panel: str,
    name: str,
    *spellings: str,
    default: str | None = None,
    metavar: str | None = None,
    check: Callable[[str | None], str | None] | None = None,
    completed_by: Callable[[str], list[str]] | None = None,
) -> OptionInfo:
    """The option of a field of ServeConfig, with its description, default and bounds."""
    field = config_fields(ServeConfig)[name]
    if isinstance(field.default, bool):
        yes_and_no = spellings[0].split("/")
        default = yes_and_no[0 if field.default else 1] if len(yes_and_no) > 1 else None
    elif default is None and field.default not in (None, []):
        default = f"{field.default:g}" if isinstance(field.default, float) else str(field.default)
    option: OptionInfo = typer.Option(
        *spellings,
        help=field.text,
        rich_help_panel=panel,
        show_default=default or False,
        metavar=metavar,
        callback=check,
        autocompletion=completed_by,
        min=field.minimum,
        max=field.maximum,
    )
    return option


Mmproj = Annotated[str | None, setting(MODEL, "mmproj", default="next to the model", metavar="FILE")]
Weights = Annotated[WeightFormat | None, setting(MODEL, "weights")]
KvCache = Annotated[CacheFormat | None, setting(MODEL, "kv_cache")]
Speculation = Annotated[str | None, setting(MODEL, "speculation", "--speculate", metavar="N|mtp|mtp:N")]
ConfigFile = Annotated[
    Path | None, typer.Option(rich_help_panel=STATE, help="TOML file of settings; options of the command line win.")
]


def numbers_of(texts: dict[str, str | None]) -> dict[str, object]:
    """The given settings among some that are a number or a word."""
    return {
        name: int(text) if text.removeprefix("-").isdecimal() else text
        for name, text in texts.items()
        if text is not None
    }
