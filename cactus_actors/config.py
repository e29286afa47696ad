"""Settings of the service and of each actor; the command line and a TOML file fill the same structs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from cactus_actors.protocol.confidence import SignalName
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.protocol.profiles import ProfileName
from cactus_actors.protocol.terms import Terms
from cactus_actors.protocol.type_mismatch import mismatch_of

WeightFormat = Literal["float32", "bfloat16", "int8", "int4"]
CacheFormat = Literal["auto", "float32", "float16", "int8"]
"""How keys and values are held; auto is float32 beside float32 weights, float16 otherwise."""

LogFormat = Literal["text", "json"]
PlacementName = Literal["local", "ray"]

Positive = Annotated[int, Meta(ge=1)]

DEFAULT_MODEL = "cactus-sprout"
DEFAULT_JOBS_ENDPOINT = "tcp://127.0.0.1:5555"
DEFAULT_STREAM_ENDPOINT = "tcp://127.0.0.1:5556"
DEFAULT_HTTP = "127.0.0.1:8080"
DEFAULT_STATE_DIR = Path("~/.cactus")
HEARTBEAT_S = 1.0
WORKER_TIMEOUT_S = 3.0


def cache_format(chosen: CacheFormat, weights: WeightFormat) -> str:
    """How keys and values are held beside weights of that format."""
    if chosen != "auto":
        return chosen
    return "float32" if weights == "float32" else "float16"


class ChatOverrides(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What stands in for the model's own.

    `chat_template` is a file with a chat template, `tool_format` names how tool calls are written
    (`tools/markup.py`), where neither template nor vocabulary tells it.
    """

    chat_template: str | None = None
    tool_format: str | None = None


NO_OVERRIDES = ChatOverrides()


class RouterSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the router actor is built from.

    `max_queued_jobs`, `max_queued_tokens` and `max_queued_bytes` bound the waiting queue, with the requests
    that are being prepared for it; `retention_s` is how long an ended job stays readable by id,
    `keyed_retention_s` where the id is an idempotency key, without a journal only the newest
    `max_result_bytes` of results; `on_deck` dispatches may wait at a full worker, so
    that a freed slot never idles. A job that somebody waits for and that names no `timeout_ms` has
    `job_timeout_s` seconds; one that cannot end in its time is refused at once. A router that allocates more
    than `max_memory_bytes` beyond what it has when it has started ends at once.
    Accepted jobs are kept in `journal_dir` and survive the router; None keeps them in memory only.
    Documents below the directory `corpus` go into the prompts of conversations. Only workers with the formats
    `weights` and `kv_cache` serve; None is that of the first one.
    With `keys_dir` all sockets ask for a key that is known there; `accounts` are the terms of the API keys of
    HTTP, by the names that their jobs bear. `confidence_signal`, `probe_file`, `max_handoff_share` and
    `max_handoff_wait_s` are those of HandoffSettings; without `has_cloud` no cloud is configured. Of each
    ended job a line is written to `job_log` and a span sent to the OpenTelemetry collector at
    `otlp_endpoint`. A job log of `job_log_max_bytes`, or with lines older than `job_log_max_age_s`, is put
    aside; `job_log_num_kept` such files are kept.
    """

    model: str = DEFAULT_MODEL
    overrides: ChatOverrides = NO_OVERRIDES
    jobs_endpoint: str = DEFAULT_JOBS_ENDPOINT
    stream_endpoint: str = DEFAULT_STREAM_ENDPOINT
    workers_endpoint: str = "tcp://127.0.0.1:*"
    desired_workers: int = 1
    max_queued_jobs: int = 10_000
    max_queued_tokens: int = 10_000_000
    max_queued_bytes: int = 256 * 1024 * 1024
    max_result_bytes: int = 64 * 1024 * 1024
    max_memory_bytes: int | None = None
    max_attempts: int = 3
    job_timeout_s: float | None = None
    retention_s: float = 600.0
    keyed_retention_s: float = 24 * 3600.0
    on_deck: int = 1
    worker_timeout_s: float = WORKER_TIMEOUT_S
    commit_tokens: int = 10
    journal_dir: str | None = None
    corpus: str | None = None
    keys_dir: str | None = None
    accounts: dict[str, Terms] = {}
    confidence_signal: SignalName = "entropy"
    probe_file: str | None = None
    max_handoff_share: float = 1.0
    max_handoff_wait_s: float | None = None
    has_cloud: bool = True
    job_log: str | None = None
    job_log_max_bytes: Positive = 32 * 1024 * 1024
    job_log_num_kept: Positive = 3
    job_log_max_age_s: Annotated[float, Meta(gt=0)] = 30 * 24 * 3600.0
    otlp_endpoint: str | None = None
    weights: WeightFormat | None = None
    kv_cache: str | None = None


class WorkerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a model-worker actor is built from; `cache_tokens` is the size of its KV cache.

    `speculation` is how many tokens a sequence may guess ahead of a step, 0 for none; it changes no token.
    `key_file` has the key that the router asks for.
    """

    worker_id: str
    model: str = DEFAULT_MODEL
    weights: WeightFormat = "int8"
    kv_cache: CacheFormat = "auto"
    threads: int = 1
    max_sequences: int = 16
    token_budget: int = 256
    cache_tokens: int = 32_768
    block_size: int = 16
    speculation: int = 0
    key_file: str | None = None


SpendingPeriod = Literal["hour", "day", "month"]


class CloudBudget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What may be spent at the cloud in every hour, day or month of UTC, or without `period` in all.

    It is everybody's together, or with `per_tenant` each tenant's own. `max_requests` counts HTTP requests,
    retries included, `max_tokens` prompt and completion tokens, `max_cost` is money of the settings'
    `currency`. Nothing more is asked for once one of them is reached; what was under way may go beyond.
    """

    period: SpendingPeriod | None = None
    per_tenant: bool = False
    max_requests: Positive | None = None
    max_tokens: Positive | None = None
    max_cost: Annotated[float, Meta(gt=0)] | None = None


class HandoffSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the cloud-handoff actor is built from; the key itself is read by the actor, never passed.

    `base_url` is the OpenAI-compatible root, ending before /chat/completions. `max_requests` bounds how many
    HTTP requests may be sent in all, retries included. `require_key` None asks for a key unless `base_url` is
    on this machine. Times are in seconds. `prompt_price` and `completion_price` are those of a million
    tokens, in `currency`. All of `budgets` hold, and what was spent is kept in `spending_file`, which `cactus
    serve` fills in.

    The router's part: `confidence_signal` is compared with a job's `cloud_handoff_threshold`
    (`protocol/confidence.py`); the signal `probe` is read from `probe_file`, or else from beside the model.
    At most `max_share` of the jobs that have a threshold are handed off, and a few more at once. A job whose
    cloud answer nobody has seen `max_wait_s` after it was asked for is given its local answer.
    """

    worker_id: str = "cloud"
    base_url: str = "https://api.openai.com/v1"
    model: str = "gpt-4o-mini"
    max_concurrent: int = 8
    max_requests: int | None = None
    connect_timeout_s: float = 5.0
    read_timeout_s: float = 30.0
    total_timeout_s: float = 60.0
    max_retries: int = 2
    breaker_failures: int = 5
    breaker_open_s: float = 30.0
    retry_backoff_s: float = 0.5
    require_key: bool | None = None
    key_file: str | None = None
    confidence_signal: SignalName = "entropy"
    probe_file: str | None = None
    max_share: Annotated[float, Meta(ge=0, le=1)] = 1.0
    max_wait_s: Annotated[float, Meta(gt=0)] | None = None
    prompt_price: Annotated[float, Meta(ge=0)] | None = None
    completion_price: Annotated[float, Meta(ge=0)] | None = None
    currency: str = "USD"
    budgets: list[CloudBudget] = []
    spending_file: str | None = None


class GatewaySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the HTTP gateway is built from; `cactus serve` fills in the first five.

    `key_digests` are SHA-256 of the API keys, the keys themselves are never passed. Of a `chat_profile` and a
    `completions_profile` come the defaults of their endpoints. `strict` refuses fields that are not known;
    `public_metrics` tells /metrics without a key. Batches of all keys together run `batch_in_flight` lines.
    The bodies of all open requests hold at most `max_open_bytes`. Web pages of `allowed_origins`
    (SCHEME://HOST[:PORT]) may send requests. Each API key keeps at most `max_files` files, of
    `max_stored_bytes` in all, and as many batches; both are removed after `file_retention_s`.
    With `tls_cert` and `tls_key`, files in PEM, it speaks TLS; `behind_proxy`: a proxy in front of it does.
    """

    model: str = DEFAULT_MODEL
    overrides: ChatOverrides = NO_OVERRIDES
    listen: str = DEFAULT_HTTP
    alias: str | None = None
    key_digests: list[str] = []
    state_dir: str = "~/.cactus"
    chat_profile: ProfileName = "cactus"
    completions_profile: ProfileName = "llamacpp"
    strict: bool = False
    public_metrics: bool = False
    max_body_bytes: Positive = 4 * 1024 * 1024
    max_file_bytes: Positive = 200 * 1024 * 1024
    max_open_requests: Positive = 4096
    max_open_bytes: Positive = 256 * 1024 * 1024
    ping_interval_s: Annotated[float, Meta(gt=0)] = 15.0
    batch_in_flight: Positive = 16
    allowed_origins: list[str] = []
    max_files: Positive = 1000
    max_stored_bytes: Positive = 4 * 1024 * 1024 * 1024
    file_retention_s: Annotated[float, Meta(gt=0)] = 30 * 24 * 3600.0
    tls_cert: str | None = None
    tls_key: str | None = None
    behind_proxy: bool = False
    key_file: str | None = None


class ServeConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything `cactus serve` can be told; a TOML file has the same names.

    With `journal` accepted jobs are on disk, under `state_dir`, and survive a restart of the service. Told to
    stop, it lets them run for `drain_timeout_s` more. A start is given up when nothing has gone on for
    `ready_timeout_s`, such as on a cluster that boots no node. `placement` is `local` for processes of this
    machine, or `ray`, the default with a `ray_address`. `http`
    is HOST:PORT of the HTTP gateway, empty for none, with TLS by `tls_cert` and `tls_key` or by a proxy in
    front (`behind_proxy`); `alias` is the name that it serves the model under. With
    `curve` ZeroMQ connections must prove a key of `cactus keys`; workers find theirs at `worker_key_file`, or
    in the state directory. `job_log` is a file, `-` for standard error or `none`; by default it is in the
    state directory. It is put aside at `job_log_max_bytes` or `job_log_max_age_s`; `job_log_num_kept` such
    files are kept, for as long. `otlp_endpoint` is an OpenTelemetry collector, by default the one that
    OTEL_EXPORTER_OTLP_ENDPOINT names. `log_format` is that of what the service says on standard error. A
    job that somebody waits for has `job_timeout_s` where it names no time of its own; None is any time. A
    router that takes `max_router_bytes` of memory beyond what it starts with is ended and started again.
    """

    model: str = DEFAULT_MODEL
    chat_template: Path | None = None
    tool_format: str | None = None
    weights: WeightFormat = "int8"
    kv_cache: CacheFormat = "auto"
    workers: Annotated[int, Meta(ge=0, le=256)] = 1
    threads: Positive = 1
    jobs_endpoint: str = DEFAULT_JOBS_ENDPOINT
    stream_endpoint: str = DEFAULT_STREAM_ENDPOINT
    workers_endpoint: str | None = None
    state_dir: Path = DEFAULT_STATE_DIR
    corpus: Path | None = None
    journal: bool = True
    drain_timeout_s: Annotated[float, Meta(ge=0)] = 20.0
    ready_timeout_s: Annotated[float, Meta(gt=0)] = 120.0
    placement: PlacementName | None = None
    ray_address: str | None = None
    max_sequences: Positive = 16
    token_budget: Positive = 256
    cache_tokens: Positive = 32_768
    max_queued_jobs: Positive = 10_000
    job_timeout_s: Annotated[float, Meta(gt=0)] | None = None
    max_router_bytes: Positive = 1024 * 1024 * 1024
    speculation: Annotated[int, Meta(ge=0, le=64)] = 0
    handoff: HandoffSettings = HandoffSettings()
    http: str = DEFAULT_HTTP
    api_key_file: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    behind_proxy: bool = False
    alias: str | None = None
    gateway: GatewaySettings = GatewaySettings()
    curve: bool = False
    worker_key_file: Path | None = None
    job_log: str | None = None
    job_log_max_bytes: Positive = 32 * 1024 * 1024
    job_log_num_kept: Positive = 3
    job_log_max_age_s: Annotated[float, Meta(gt=0)] = 30 * 24 * 3600.0
    otlp_endpoint: str | None = None
    log_format: LogFormat = "text"


def read_config_file(path: Path) -> dict[str, object]:
    """The settings of a TOML file as a plain mapping; raises ConfigurationInvalid naming the file."""
    try:
        settings = dict(msgspec.toml.decode(path.read_bytes()))
        _convert(settings)
    except OSError as error:
        raise ConfigurationInvalid(f"{path}: {error.strerror}") from None
    except msgspec.ValidationError as error:
        mismatch = mismatch_of(error)
        raise ConfigurationInvalid(f"{path}: {mismatch.message}", param=mismatch.param) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigurationInvalid(f"{path}: {error}") from None
    return settings


def make_config(*sources: dict[str, object]) -> ServeConfig:
    """A ServeConfig from mappings in rising precedence; raises ConfigurationInvalid naming the setting."""
    merged: dict[str, object] = {}
    for source in sources:
        merged |= {name: value for name, value in source.items() if value is not None}
    try:
        return _convert(merged)
    except msgspec.ValidationError as error:
        mismatch = mismatch_of(error)
        raise ConfigurationInvalid(f"configuration: {mismatch.message}", param=mismatch.param) from None


def _convert(settings: dict[str, object]) -> ServeConfig:
    return msgspec.convert(settings, ServeConfig, dec_hook=lambda _, value: Path(value))
