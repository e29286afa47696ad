"""Options that several commands take."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.models import OptionInfo

from cactus_actors.protocol.errors import CactusError, InvalidRequest
from cactus_actors.protocol.options import Options

FIRST_ANSWER_S = 5.0  # interactive use

CONNECTION, SAMPLING, REASONING = "Connection", "Answers", "Reasoning"
"""Headings in the help."""


def _option(
    panel: str, text: str, *spellings: str, envvar: str | None = None, metavar: str | None = None
) -> OptionInfo:
    option: OptionInfo = typer.Option(*spellings, rich_help_panel=panel, envvar=envvar, metavar=metavar, help=text)
    return option


Endpoint = Annotated[
    str,
    _option(CONNECTION, "The service's jobs endpoint, tcp://HOST:PORT.", envvar="CACTUS_ENDPOINT", metavar="ENDPOINT"),
]
StreamEndpoint = Annotated[
    str | None,
    _option(
        CONNECTION,
        "The service's stream endpoint; by default the next port.",
        envvar="CACTUS_STREAM_ENDPOINT",
        metavar="ENDPOINT",
    ),
]
KeyFile = Annotated[
    str | None,
    _option(
        CONNECTION,
        "Your key file, if the service requires keys (cactus keys).",
        envvar="CACTUS_KEY_FILE",
        metavar="FILE",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The model of several that answers: its name, an alias, a cascade, an adapter, or MODEL:ADAPTER; by "
        "default the first.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]

MaxTokens = Annotated[int | None, _option(SAMPLING, "Largest number of new tokens; -1 is up to the context's end.")]
Temperature = Annotated[float | None, _option(SAMPLING, "0 is greedy, up to 2.")]
TopP = Annotated[float | None, _option(SAMPLING, "Keep the likeliest tokens up to this total probability, 0 to 1.")]
TopK = Annotated[int | None, _option(SAMPLING, "Keep this number of the likeliest tokens; 0 keeps all.")]
MinP = Annotated[float | None, _option(SAMPLING, "Drop tokens below this share of the likeliest one's probability.")]
Seed = Annotated[int | None, _option(SAMPLING, "The same seed gives the same tokens.")]
Stop = Annotated[list[str] | None, _option(SAMPLING, "End before this text; the option may be repeated.")]
RepeatPenalty = Annotated[float | None, _option(SAMPLING, "Above 1 discourages repetition.")]
Lora = Annotated[
    str | None,
    _option(SAMPLING, "The LoRA adapter that answers (cactus lora list); an empty name is the model.", metavar="NAME"),
]
HandoffThreshold = Annotated[
    float | None, _option(SAMPLING, "Hand off to the cloud if the confidence signal is below this; 0 is never.")
]
Think = Annotated[
    bool | None,
    _option(REASONING, "Reason before the answer, or not; by default the template decides.", "--think/--no-think"),
]
ThinkingBudget = Annotated[
    int | None, _option(REASONING, "End the reasoning after this number of tokens; -1 is no limit.")
]
ShowReasoning = Annotated[
    bool | None,
    _option(
        REASONING,
        "Write the reasoning to stderr, dimmed; by default at a terminal.",
        "--show-reasoning/--hide-reasoning",
    ),
]


def given_options(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a command that are options of a job and were given, by the names of their fields."""
    return {name: arguments[name] for name in Options.__struct_fields__ if arguments.get(name) not in (None, [])}


def schema_of(given: str) -> Any:
    """A JSON Schema from JSON text or a file name; raises InvalidRequest."""
    from cactus_actors.api.strict_json import decode_strictly
    from cactus_actors.structured.request_grammar import check_form

    text, name = given.strip(), "--schema"
    if not text.startswith("{"):
        name = f"--schema: {given}"
        try:
            text = Path(given).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "is not UTF-8"
            raise InvalidRequest(f"--schema: {given}: {reason}", param="json_schema") from None
    try:
        schema = decode_strictly(text.encode(), "it")
        if schema is None:
            raise InvalidRequest("a schema is an object or a boolean, not null")
        check_form(Options(json_schema=schema))
    except CactusError as error:
        raise InvalidRequest(f"{name}: {error.message}", param="json_schema") from None
    return schema
