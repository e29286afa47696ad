"""Rules between options: aliases, unions, exclusions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from cactus_actors.api.field_names import OPTION_ALIASES, spellings_of
from cactus_actors.api.option_ranges import check_num_logprobs
from cactus_actors.api.profiles import Profile
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.exact_integers import RANDOM_SEED, seed_of, seed_of_job
from cactus_actors.protocol.options import Options

_RESPONSE_FORMATS = ("text", "json_object", "json_schema")


def given_options(options: Options) -> dict[str, Any]:
    """The options that the client set, under their canonical names.

    Raises InvalidRequest if two spellings of one field have different values.
    """
    given = {name: value for name, value in msgspec.structs.asdict(options).items() if value is not None}
    given |= {name: seed_of(given[name]) for name in ("seed", "random_seed") if name in given}
    for alias, name in OPTION_ALIASES.items():
        if alias not in given:
            continue
        value = given.pop(alias)
        if given.setdefault(name, value) != value:
            raise InvalidRequest(f"{name} and {alias} are one field and were given two values", param=alias)
    if given.get("grammar") == "":
        del given["grammar"]
    return given


def with_defaults(options: Options, defaults: Options) -> Options:
    """`options`, with the `defaults` of fields that it has under no spelling."""
    others = {
        name: value
        for name, value in msgspec.structs.asdict(defaults).items()
        if value is not None and all(getattr(options, spelling) is None for spelling in spellings_of(name))
    }
    return msgspec.structs.replace(options, **others)


def with_seed(options: Options, job_id: str) -> Options:
    """`options` with a seed: the given one, or the one that follows from the job's id.

    So the same id and content is the same job whoever sends it again, and a router that has forgotten the job
    generates the same tokens.
    """
    if all(seed_of(seed) == RANDOM_SEED for seed in (options.seed, options.random_seed)):
        return msgspec.structs.replace(options, seed=seed_of_job(job_id), random_seed=None)
    return options


def num_logprobs(given: Mapping[str, Any], profile: Profile) -> int:
    """Number of likely tokens to return with each token; -1 for not even its own log probability.

    `logprobs` is true, with the number in `top_logprobs`, or that number itself.
    """
    logprobs, top = given.get("logprobs", False), given.get("top_logprobs")
    if logprobs is False:
        if top is not None:
            raise InvalidRequest("top_logprobs needs logprobs", param="top_logprobs")
        return -1
    if logprobs is True:
        check_num_logprobs("top_logprobs", top or 0, profile)
        return top or 0
    check_num_logprobs("logprobs", logprobs, profile)
    if top is not None and top != logprobs:
        raise InvalidRequest(f"logprobs asks for {logprobs} tokens and top_logprobs for {top}", param="top_logprobs")
    return int(logprobs)


def check_structure(given: Mapping[str, Any]) -> None:
    """Raise InvalidRequest for two structured-output options at once, or an invalid response_format."""
    forms = [name for name in ("grammar", "json_schema", "regex") if name in given]
    if "response_format" in given:
        kind = given["response_format"].get("type")
        if kind not in _RESPONSE_FORMATS:
            raise InvalidRequest(
                f"response_format.type must be one of {', '.join(_RESPONSE_FORMATS)}",
                param="response_format.type",
            )
        if kind == "json_schema":
            _check_schema(given["response_format"].get("json_schema"))
        if kind != "text":
            forms.append("response_format")
    if "grammar_root" in given and forms != ["grammar"]:
        forms.append("grammar_root")
    if len(forms) > 1:
        raise InvalidRequest(f"{forms[0]} and {forms[1]} exclude each other", param=forms[1])


def structure_of(given: Mapping[str, Any]) -> str | None:
    """The structured-output option of the request, None without one."""
    for name in ("grammar", "grammar_root", "json_schema", "regex"):
        if name in given:
            return name
    is_free = given.get("response_format", {"type": "text"}).get("type") == "text"
    return None if is_free else "response_format"


def _check_schema(wrapper: object) -> None:
    if not isinstance(wrapper, dict) or not isinstance(wrapper.get("schema"), dict | bool):
        raise InvalidRequest(
            "response_format.json_schema.schema is required, an object or a boolean",
            param="response_format.json_schema.schema",
        )
