"""docs/reference/configuration.md: every setting of the service."""

from __future__ import annotations

from typing import Any

import msgspec

from cactus_actors.config import CloudBudget, GatewaySettings, HandoffSettings, ServeConfig
from cactus_actors.config_fields import ConfigField, config_fields
from docs.generate.layout import item, page, paragraphs

INTRODUCTION = """\
`cactus serve --config FILE` reads a TOML file with these names. An option of the command line wins over the file. An
unknown name, a value of another type and a value out of range are refused before anything starts."""
SECTIONS: list[tuple[str, type[msgspec.Struct], str]] = [
    ("Service", ServeConfig, "These stand at the top of the file, before any section."),
    ("`[gateway]`", GatewaySettings, "Limits and defaults of the HTTP gateway; see [http.md](http.md)."),
    (
        "`[handoff]`",
        HandoffSettings,
        "The cloud for jobs of low confidence; see [handoff](../guide/handoff.md).",
    ),
    ("`[[handoff.budgets]]`", CloudBudget, ""),
]
_UNITS = [(1024**3, "GiB"), (1024**2, "MiB"), (86400, "days")]


def configuration_page() -> str:
    """The text of the page."""
    parts = []
    for title, settings, introduction in SECTIONS:
        fields = [field for field in config_fields(settings).values() if field.text]
        text = introduction or paragraphs(settings.__doc__)
        parts += [f"## {title}", text, "\n".join(item(f"`{field.name}`", _text(field)) for field in fields)]
    return page("Configuration", INTRODUCTION, *parts)


def _text(field: ConfigField) -> str:
    kind = ", ".join(f'`"{choice}"`' for choice in field.choices) or field.kind
    if field.above is not None:
        kind += f" above {field.above:.16g}" + (f", at most {field.maximum:.16g}" if field.maximum else "")
    elif field.minimum is not None:
        kind += (
            f" {field.minimum:.16g} to {field.maximum:.16g}" if field.maximum else f" of at least {field.minimum:.16g}"
        )
    return f"{field.text} ({kind}; {_default(field.name, field.default)})"


def _default(name: str, value: Any) -> str:
    if value in (None, []):
        return "not set"
    if isinstance(value, bool):
        return f"default `{str(value).lower()}`"
    if isinstance(value, int | float):
        units = [(unit, word) for unit, word in _UNITS if name.endswith(("_bytes", "_s"))]
        of = next((f" = {value / unit:g} {word}" for unit, word in units if value % unit == 0 and value >= unit), "")
        return f"default `{value:g}`" if isinstance(value, float) and not of else f"default `{value:.0f}`{of}"
    return f'default `"{value}"`'
