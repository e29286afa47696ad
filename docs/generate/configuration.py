"""docs/reference/configuration.md: every setting of the service."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from cactus_actors.config import CloudBudget, GatewaySettings, HandoffSettings, ServeConfig
from cactus_actors.config_fields import ConfigField, config_fields
from cactus_actors.config_models import CascadeSettings, CascadeTier, ModelEntry
from cactus_actors.config_scaling import ScalingSettings
from docs.generate.layout import item, page, paragraphs

INTRODUCTION = """\
`cactus serve --config FILE` reads a TOML file with these names:

    model = "HuggingFaceTB/SmolLM2-135M-Instruct"
    workers = 2
    cache_tokens = 16384

    [gateway]
    max_open_requests = 256

An option of the command line wins over the file. An unknown name, a value of another type and a value out of range are
refused before anything starts. Settings that this page lists before `[gateway]` are at the top of the file."""
ENVIRONMENT = """\
- **`CACTUS_ENDPOINT`**, **`CACTUS_STREAM_ENDPOINT`**, **`CACTUS_KEY_FILE`**: defaults of the options of these names
  ([commands](cli.md)); the Python client reads `CACTUS_KEY_FILE` too.
- **`CACTUS_API_KEYS`**: API keys of the HTTP gateway, separated by commas ([HTTP](http.md#keys)).
- **`CACTUS_API_KEY`**: the API key of the [SDK](sdk.md) for a service over HTTP.
- **`CACTUS_CLOUD_KEY`**, **`CACTUS_HOME`**, **`CACTUS_DISABLE_CLOUD_HANDOFF`**: the key of the cloud, the directory of
  `cactus auth` alone (that of the service is `state_dir`), and a switch
  ([handoff](../guide/handoff.md#the-clouds-key)).
- **`CACTUS_CACHE_DIR`**: the directory of packed models, by default `cactus-actors` in the user's cache directory.
- **`NUMBA_CACHE_DIR`**: the directory of compiled kernels.
- **`CACTUS_KERNELS`**: the instruction set of the kernels; by default the best one of the CPU.
- **`CACTUS_TRACEBACK`**: 1 shows where an unexpected error of a command occurred.
- **`HF_HOME`**, **`HF_TOKEN`**, **`HF_HUB_OFFLINE`**: cache, token and switch of the Hugging Face hub.
- **`OTEL_...`**: [traces](logs.md#traces). **`RAY_AUTH_MODE`**, **`RAY_AUTH_TOKEN_PATH`**:
  [clusters](../guide/deployment.md#a-cluster)."""
SERVICE = {
    "Model": [
        "model",
        "models",
        "mmproj",
        "lora",
        "chat_template",
        "tool_format",
        "weights",
        "kv_cache",
        "speculation",
        "corpus",
        "image_root",
        "image_hosts",
    ],
    "Workers": [
        *("workers", "threads", "pin", "unload_after_s", "max_model_bytes", "max_sequences", "token_budget"),
        *("cache_tokens", "cache_bytes", "checkpoints", "checkpoint_tokens"),
        *("placement", "ray_address"),
    ],
    "Router": ["max_queued_jobs", "job_timeout_s", "max_router_bytes"],
    "ZeroMQ": ["jobs_endpoint", "stream_endpoint", "workers_endpoint", "curve", "worker_key_file"],
    "HTTP": ["http", "ollama", "api_key_file", "tls_cert", "tls_key", "behind_proxy", "alias", "page"],
    "State and logs": [
        *(
            "state_dir",
            "journal",
            "max_journal_picture_bytes",
            "drain_timeout_s",
            "ready_timeout_s",
            "job_log",
            "job_log_max_bytes",
        ),
        *("job_log_num_kept", "job_log_max_age_s", "log_format", "otlp_endpoint"),
    ],
}
"""The settings of ServeConfig under the headings of `cactus serve --help`, and those of the router."""

SECTIONS: list[tuple[str, type[msgspec.Struct], str]] = [
    ("`[[models]]`", ModelEntry, ""),
    ("`[scaling]`", ScalingSettings, "How models are sized; see [deployment](../guide/deployment.md#workers-by-load)."),
    ("`[gateway]`", GatewaySettings, "Limits and defaults of the HTTP gateway; see [http.md](http.md)."),
    (
        "`[handoff]`",
        HandoffSettings,
        "The cloud for jobs of low confidence; see [handoff](../guide/handoff.md).",
    ),
    (
        "`[cascade]`",
        CascadeSettings,
        "Models that are asked one after the other; see [cascades](../guide/cascades.md).",
    ),
    ("`[[cascade.tiers]]`", CascadeTier, ""),
    ("`[[handoff.budgets]]`, `[[handoff.audit_budgets]]`", CloudBudget, ""),
]
_UNITS = [(1024**3, "GiB"), (1024**2, "MiB"), (86400, "days")]


def configuration_page() -> str:
    """The text of the page."""
    service = config_fields(ServeConfig)
    assert sorted(service) == sorted(name for names in SERVICE.values() for name in names)
    parts = []
    for title, names in SERVICE.items():
        parts += [f"## {title}", _entries(service[name] for name in names)]
    for title, settings, introduction in SECTIONS:
        fields = [field for field in config_fields(settings).values() if field.text]
        parts += [f"## {title}", introduction or paragraphs(settings.__doc__), _entries(fields)]
    return page("Configuration", INTRODUCTION, *parts, "## Environment variables", ENVIRONMENT)


def _entries(fields: Iterable[ConfigField]) -> str:
    return "\n".join(item(f"`{field.name}`", _text(field)) for field in fields)


def _text(field: ConfigField) -> str:
    choices = ", ".join(f'`"{choice}"`' for choice in field.choices)
    kind = field.kind if field.kind != "one of" else choices
    if field.above is not None:
        kind += f" above {field.above:.16g}" + (f", at most {field.maximum:.16g}" if field.maximum else "")
    elif field.minimum is not None:
        kind += (
            f" {field.minimum:.16g} to {field.maximum:.16g}" if field.maximum else f" of at least {field.minimum:.16g}"
        )
    if choices and field.kind != "one of":
        kind += f", or {choices}"
    return f"{field.text} ({kind}; {_default(field.name, field.default)})"


def _default(name: str, value: Any) -> str:
    if value is msgspec.NODEFAULT:
        return "required"
    if value in (None, []):
        return "not set"
    if isinstance(value, bool):
        return f"default `{str(value).lower()}`"
    if isinstance(value, int | float):
        units = [(unit, word) for unit, word in _UNITS if name.endswith(("_bytes", "_s"))]
        of = next((f" = {value / unit:g} {word}" for unit, word in units if value % unit == 0 and value >= unit), "")
        return f"default `{value:g}`" if isinstance(value, float) and not of else f"default `{value:.0f}`{of}"
    return f'default `"{value}"`'
