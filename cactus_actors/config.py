"""Settings of the service and of each actor; the command line and a TOML file fill the same structs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from cactus_actors.config_handoff import CloudBudget as CloudBudget
from cactus_actors.config_handoff import DriftAction as DriftAction
from cactus_actors.config_handoff import FirstGate
from cactus_actors.config_handoff import HandoffSettings as HandoffSettings
from cactus_actors.config_handoff import SpendingPeriod as SpendingPeriod
from cactus_actors.config_models import (
    DEFAULT_MODEL,
    NO_CASCADE,
    AdapterSetting,
    CacheFormat,
    CascadeSettings,
    Drafts,
    ModelEntry,
    ModelMemory,
    RoutedModel,
    WeightFormat,
)
from cactus_actors.config_scaling import ScalingSettings, WorkerCount, WorkerRange
from cactus_actors.process.leaving_node import LeavingNode
from cactus_actors.protocol.confidence import DEFAULT_SIGNAL, SignalName
from cactus_actors.protocol.handoff_gates import COMMIT_TOKENS, HandoffGates
from cactus_actors.protocol.key_grants import KeyGrants
from cactus_actors.protocol.model_overrides import NO_OVERRIDES, ModelOverrides
from cactus_actors.protocol.options import ProfileName
from cactus_actors.protocol.picture_access import DATA_URLS_ALONE, PictureAccess
from cactus_actors.setting_types import DayOrLess, Duration, HourOrLess, NonNegative, Positive, TokenCount, about

LogFormat = Literal["text", "json"]
PlacementName = Literal["local", "ray"]
OnOrOff = Literal["on", "off"]
Pinning = Literal["auto", "off"]

DEFAULT_JOBS_ENDPOINT = "tcp://127.0.0.1:5555"
DEFAULT_STREAM_ENDPOINT = "tcp://127.0.0.1:5556"
DEFAULT_HTTP = "127.0.0.1:8080"
DEFAULT_STATE_DIR = Path("~/.cactus")
HEARTBEAT_S = 1.0
WORKER_TIMEOUT_S = 3.0


class RouterSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of the router actor; fields without a description are those of ServeConfig or HandoffSettings."""

    model: str = DEFAULT_MODEL
    overrides: ModelOverrides = NO_OVERRIDES
    pictures: PictureAccess = DATA_URLS_ALONE
    jobs_endpoint: str = DEFAULT_JOBS_ENDPOINT
    stream_endpoint: str = DEFAULT_STREAM_ENDPOINT
    workers_endpoint: str = "tcp://127.0.0.1:*"
    desired_workers: Annotated[int, about("The number of local workers, until `cactus scale` sets another.")] = 1
    size: Annotated[WorkerRange | None, about("The range in which the router sizes the only model.")] = None
    is_size_fixed: Annotated[bool, about("An operator has set the number of workers.")] = False
    scaling: ScalingSettings = ScalingSettings()
    leaving_nodes: Annotated[list[LeavingNode], about("The nodes whose workers leave.")] = []
    max_queued_jobs: int = 10_000
    max_queued_tokens: Annotated[int, about("Prompt tokens that may wait, requests in preparation included.")] = (
        10_000_000
    )
    max_queued_bytes: Annotated[int, about("Memory of waiting requests, those in preparation included.")] = (
        256 * 1024 * 1024
    )
    max_result_bytes: Annotated[int, about("Without a journal only the newest results, up to this size, are kept.")] = (
        64 * 1024 * 1024
    )
    max_memory_bytes: Annotated[int | None, about("`max_router_bytes` of ServeConfig; None is no limit.")] = None
    max_attempts: int = 3
    job_timeout_s: float | None = None
    retention_s: Annotated[float, about("How long an ended job can be read by its id.")] = 600.0
    keyed_retention_s: Annotated[float, about("How long an ended job with an idempotency key can be read.")] = (
        24 * 3600.0
    )
    on_deck: Annotated[int, about("Dispatches that wait at a full worker, so that a freed slot never idles.")] = 1
    worker_timeout_s: float = WORKER_TIMEOUT_S
    commit_tokens: Annotated[int, about("Tokens of a stream that are held back while it may be handed off.")] = (
        COMMIT_TOKENS
    )
    journal_dir: Annotated[str | None, about("Accepted jobs are kept here; None keeps them in memory only.")] = None
    max_journal_picture_bytes: int = 1 << 30
    corpus: str | None = None
    keys_dir: Annotated[str | None, about("With it all sockets require a CURVE key that is known there.")] = None
    accounts: Annotated[dict[str, KeyGrants], about("Grants of the API keys of HTTP, by the name in their jobs.")] = {}
    confidence_signal: SignalName = DEFAULT_SIGNAL
    first_gate_tokens: int = 1
    gate: FirstGate = "answer"
    prompt_threshold: float = 0.5
    prompt_probe_file: str | None = None
    probe_file: str | None = None
    probability_file: str | None = None
    max_handoff_share: Annotated[float, about("`max_share` of HandoffSettings.")] = 1.0
    max_handoff_wait_s: Annotated[float | None, about("`max_wait_s` of HandoffSettings.")] = None
    has_cloud: Annotated[bool, about("False where no cloud is configured.")] = True
    audit_share: Annotated[float, about("As in HandoffSettings.")] = 0.0
    job_log: str | None = None
    job_log_max_bytes: Positive = 32 * 1024 * 1024
    job_log_num_kept: Positive = 3
    job_log_max_age_s: Duration = 30 * 24 * 3600.0
    otlp_endpoint: str | None = None
    unload_after_s: float | None = None
    max_model_bytes: int | None = None
    memory: Annotated[ModelMemory | None, about("Of the only model, where `max_model_bytes` bounds it.")] = None
    begins_unloaded: Annotated[bool, about("The model has no workers until a job needs it.")] = False
    weights: Annotated[WeightFormat | None, about("Only workers of this format serve; None: the first one's.")] = None
    kv_cache: Annotated[str | None, about("As `weights`, for the format of the KV cache.")] = None
    alias: str | None = None
    adapters: Annotated[list[AdapterSetting], about("The adapters of `lora`, with absolute paths.")] = []
    models: Annotated[list[RoutedModel], about("The models of a service that has several.")] = []
    cascade: CascadeSettings = NO_CASCADE

    @property
    def served(self) -> list[RoutedModel]:
        """All models; the only one of a service has no name."""
        if self.models:
            return self.models
        only = RoutedModel(
            name="",
            aliases=[] if self.alias is None else [self.alias],
            model=self.model,
            overrides=self.overrides,
            weights=self.weights,
            kv_cache=self.kv_cache,
            adapters=self.adapters,
            desired_workers=self.desired_workers,
            size=self.size,
            is_size_fixed=self.is_size_fixed,
            unload_after_s=self.unload_after_s,
            begins_unloaded=self.begins_unloaded,
            memory=self.memory,
            probe_file=self.probe_file,
            probability_file=self.probability_file,
            prompt_probe_file=self.prompt_probe_file,
        )
        return [only]

    @property
    def desired_by_model(self) -> dict[str, int]:
        """The desired workers of each model by its name."""
        return {it.name: it.desired_workers for it in self.served}

    @property
    def handoff_gates(self) -> HandoffGates:
        prompt_threshold = self.prompt_threshold if self.gate == "prompt" else None
        return HandoffGates(self.first_gate_tokens, self.commit_tokens, prompt_threshold)


class WorkerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a model worker; fields without a description are those of ServeConfig."""

    worker_id: str
    served_as: Annotated[str, about("The model's name in a service of several; empty in one of one model.")] = ""
    model: str = DEFAULT_MODEL
    mmproj: str | None = None
    weights: WeightFormat = "int8"
    kv_cache: CacheFormat = "auto"
    threads: int = 1
    max_sequences: int | None = None
    token_budget: int = 512
    cache_tokens: int = 32_768
    cache_bytes: int | None = None
    checkpoints: int = 32
    checkpoint_tokens: int = 256
    block_size: Annotated[int, about("Tokens of a block of the KV cache.")] = 16
    speculation: Annotated[int, about("The most draft tokens of a sequence in a step.")] = 0
    draft_head: Annotated[bool, about("Take drafts from the head of the model.")] = False
    key_file: Annotated[str | None, about("The CURVE key that the router requires.")] = None


class GatewaySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The section `[gateway]`: limits and defaults of the HTTP gateway.

    `cactus serve` fills in the fields without a description. `key_digests` are SHA-256 digests: the gateway never
    gets the API keys themselves.
    """

    model: str = DEFAULT_MODEL
    overrides: ModelOverrides = NO_OVERRIDES
    models: list[RoutedModel] = []
    cascade: CascadeSettings = NO_CASCADE
    listen: str = DEFAULT_HTTP
    ollama: str = ""
    page: OnOrOff = "on"
    alias: str | None = None
    key_digests: list[str] = []
    operator_digests: list[str] = []
    state_dir: str = "~/.cactus"
    chat_profile: Annotated[ProfileName, about("Profile of defaults for chat completions.")] = "cactus"
    completions_profile: Annotated[ProfileName, about("Profile of defaults for completions.")] = "llamacpp"
    strict: Annotated[bool, about("Refuse unknown fields of a request, instead of ignoring and counting them.")] = False
    public_metrics: Annotated[bool, about("Serve `/metrics` without an API key.")] = False
    max_body_bytes: Annotated[Positive, about("Largest body of a request.")] = 4 * 1024 * 1024
    max_file_bytes: Annotated[Positive, about("Largest uploaded file.")] = 200 * 1024 * 1024
    max_open_requests: Annotated[Positive, about("Requests that are open at once.")] = 4096
    max_open_bytes: Annotated[Positive, about("Memory of the bodies of all open requests.")] = 256 * 1024 * 1024
    ping_interval_s: Annotated[
        HourOrLess, about("Seconds without a token after which a stream sends a comment, to stay open.")
    ] = 15.0
    batch_in_flight: Annotated[Positive, about("Lines of batches that run at once, all API keys together.")] = 16
    allowed_origins: Annotated[
        list[str], about("Origins (SCHEME://HOST[:PORT]) of web pages that may send requests.")
    ] = []
    max_files: Annotated[Positive, about("Largest number of files of an API key, and of its batches.")] = 1000
    max_stored_bytes: Annotated[Positive, about("Size of all files of an API key, and of all its responses.")] = (
        4 * 1024 * 1024 * 1024
    )
    max_responses: Annotated[
        NonNegative,
        about("Most stored responses of an API key, 0 for none; the oldest give way to new ones."),
    ] = 10_000
    file_retention_s: Annotated[Duration, about("Seconds after which files, batches and responses are removed.")] = (
        30 * 24 * 3600.0
    )
    tls_cert: str | None = None
    tls_key: str | None = None
    behind_proxy: bool = False
    key_file: str | None = None


class ServeConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of `cactus serve`; a TOML file has the same names, and options of the command line win."""

    model: Annotated[
        str, about("Name of an embedded model, a directory, a GGUF file, or OWNER/NAME[:FILE] on the Hugging Face hub.")
    ] = DEFAULT_MODEL
    models: Annotated[list[ModelEntry], about("Several models in the place of `model`; see `[[models]]`.")] = []
    mmproj: Annotated[
        str | None,
        about("GGUF file of a GGUF model's encoder of pictures, by default mmproj*.gguf next to it; none: no encoder."),
    ] = None
    chat_template: Annotated[
        Path | None, about("A Jinja chat template, for a model without one or in place of its own.")
    ] = None
    tool_format: Annotated[
        str | None,
        about("Format of tool calls, if the one found in the model's files is wrong; see docs/reference/tools.md."),
    ] = None
    lora: Annotated[
        list[str], about("LoRA adapters, NAME=PATH each: a directory of PEFT, or a GGUF file; see docs/guide/lora.md.")
    ] = []
    weights: Annotated[WeightFormat, about("Format of the weights in memory.")] = "int8"
    kv_cache: Annotated[
        CacheFormat,
        about("Format of the KV cache; auto is float32 for float32 weights, float16 for bfloat16, else int8."),
    ] = "auto"
    workers: Annotated[
        WorkerCount, about("Number of model workers; of LEAST:MOST, such as 1:16, the load decides between the two.")
    ] = 1
    threads: Annotated[Positive, about("Threads of each worker.")] = 1
    pin: Annotated[
        Pinning,
        about("auto: threads of local workers have a core each, where two more are left; off: they run on any core."),
    ] = "auto"
    unload_after_s: Annotated[
        DayOrLess | None, about("Seconds without a job after which a model's workers stop; a job starts them again.")
    ] = None
    max_model_bytes: Annotated[
        Positive | None,
        about("Memory of all weights and caches on a machine; idle models give theirs up for one that has a job."),
    ] = None
    jobs_endpoint: Annotated[str, about("ZeroMQ endpoint where clients submit jobs.")] = DEFAULT_JOBS_ENDPOINT
    stream_endpoint: Annotated[str, about("ZeroMQ endpoint where tokens are published.")] = DEFAULT_STREAM_ENDPOINT
    workers_endpoint: Annotated[
        str | None, about("ZeroMQ endpoint where workers connect; on a cluster an address of this machine.")
    ] = None
    state_dir: Annotated[Path, about("Directory of the service's own files.")] = DEFAULT_STATE_DIR
    corpus: Annotated[Path | None, about("Directory of documents; chunks that fit a question go into its prompt.")] = (
        None
    )
    image_root: Annotated[
        Path | None, about("Directory from which requests may name pictures by path or file URL; without it, none.")
    ] = None
    image_hosts: Annotated[
        list[str],
        about(
            "Hosts (NAME or NAME:PORT; * for any) from which pictures are fetched by URL, never from private addresses."
        ),
    ] = []
    journal: Annotated[bool, about("Keep accepted jobs on disk, so that they survive a restart.")] = True
    max_journal_picture_bytes: Annotated[Positive, about("Largest size of the pictures in the journal.")] = 1 << 30
    drain_timeout_s: Annotated[
        float, Meta(ge=0, le=86_400), about("Seconds that accepted jobs get when the service is stopped.")
    ] = 20.0
    ready_timeout_s: Annotated[
        DayOrLess,
        about("Seconds without progress after which a start is given up; raise it for a cluster that boots slowly."),
    ] = 120.0
    placement: Annotated[
        PlacementName | None,
        about("local: actors are child processes; ray: Ray places them, the default with a Ray address."),
    ] = None
    ray_address: Annotated[
        str | None, about("Address of a Ray cluster; placement ray without it starts a private instance.")
    ] = None
    max_sequences: Annotated[
        Positive | None,
        about("Sequences that a worker runs at once; by default 16, or one for every 512 tokens of its cache if more."),
    ] = None
    token_budget: Annotated[
        Positive,
        about("Largest number of tokens that a worker computes in one step; at most 128 of prompts beside answers."),
    ] = 512
    cache_tokens: Annotated[TokenCount, about("Size of a worker's KV cache, in tokens.")] = 32_768
    cache_bytes: Annotated[
        Positive | None,
        about("Memory of a worker's cache, keys, values and recurrent states together; replaces `cache_tokens`."),
    ] = None
    checkpoints: Annotated[
        int, Meta(ge=0), about("Recurrent states that a worker keeps for cached prefixes, where the model has them.")
    ] = 32
    checkpoint_tokens: Annotated[Positive, about("Tokens from one kept recurrent state of a prefix to the next.")] = 256
    max_queued_jobs: Annotated[Positive, about("Jobs that may wait; more are refused.")] = 10_000
    job_timeout_s: Annotated[
        DayOrLess | None, about("Seconds for a job of priority 0 or below that names no `timeout_ms`.")
    ] = None
    max_router_bytes: Annotated[Positive, about("Growth of the router's memory at which its process is restarted.")] = (
        1024 * 1024 * 1024
    )
    speculation: Annotated[
        Drafts, about("Draft tokens from the text, or with mtp:N from the model's head (MTP); they change no token.")
    ] = 0
    scaling: ScalingSettings = ScalingSettings()
    handoff: HandoffSettings = HandoffSettings()
    cascade: CascadeSettings = NO_CASCADE
    http: Annotated[str, about("HOST:PORT of the HTTP gateway; empty for none.")] = DEFAULT_HTTP
    ollama: Annotated[
        str, about("HOST:PORT where the gateway listens too, for clients of Ollama, such as 127.0.0.1:11434.")
    ] = ""
    api_key_file: Annotated[
        Path | None,
        about(
            "File of API keys, one per line; CACTUS_API_KEYS has more, separated by commas. See docs/reference/http.md."
        ),
    ] = None
    tls_cert: Annotated[
        Path | None, about("Certificate chain of the HTTP gateway, PEM; read again when it changes.")
    ] = None
    tls_key: Annotated[Path | None, about("Private key of the certificate, PEM.")] = None
    behind_proxy: Annotated[
        bool, about("A proxy terminates TLS. Without TLS or a proxy, HTTP listens on loopback only.")
    ] = False
    alias: Annotated[str | None, about("Name of the model for HTTP clients.")] = None
    page: Annotated[OnOrOff, about("The page for people at / of the HTTP gateway; see docs/guide/page.md.")] = "on"
    gateway: GatewaySettings = GatewaySettings()
    curve: Annotated[
        bool, about("Require a key of `cactus keys` from ZeroMQ connections, and encrypt them; needed off loopback.")
    ] = False
    worker_key_file: Annotated[Path | None, about("Key file of workers on other machines; one path on each.")] = None
    job_log: Annotated[
        str | None,
        about(
            "File of the job log, by default jobs.jsonl in the state directory; - is standard error, none is no log."
        ),
    ] = None
    job_log_max_bytes: Annotated[Positive, about("Size at which the job log is rotated.")] = 32 * 1024 * 1024
    job_log_num_kept: Annotated[Positive, about("Rotated job logs that are kept.")] = 3
    job_log_max_age_s: Annotated[
        Duration, about("Age at which the job log is rotated, and at which rotated ones are removed.")
    ] = 30 * 24 * 3600.0
    otlp_endpoint: Annotated[
        str | None, about("OpenTelemetry collector, http://HOST:4318, that gets a span of each job.")
    ] = None
    log_format: Annotated[LogFormat, about("Format of the service's messages on standard error.")] = "text"
