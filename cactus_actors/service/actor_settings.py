"""The settings of each actor, from the service's configuration and values resolved at its start."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from cactus_actors.config import GatewaySettings, HandoffSettings, RouterSettings, ServeConfig, WorkerSettings
from cactus_actors.config_models import AdapterSetting, ModelMemory, RoutedModel, cache_format
from cactus_actors.config_scaling import WorkerRange, worker_range
from cactus_actors.gateway.http.api_keys import accounts_of
from cactus_actors.handoff.audits.audit_files import audit_directory
from cactus_actors.process.leaving_node import LeavingNode
from cactus_actors.protocol.adapter_names import NAME_RULE, is_adapter_name
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.protocol.key_grants import KeyGrants
from cactus_actors.protocol.model_overrides import ModelOverrides
from cactus_actors.protocol.picture_access import PictureAccess
from cactus_actors.service.service_keys import ServiceKeys

DRAFTS_OF_HEAD = 3
"""The drafts of `mtp` without a number."""


def adapters_of(config: ServeConfig) -> list[AdapterSetting]:
    """The adapters of the service, with absolute paths; raises ConfigurationInvalid for anything but NAME=PATH."""
    adapters: dict[str, AdapterSetting] = {}
    for given in config.lora:
        name, equals, path = given.partition("=")
        if not (equals and path and is_adapter_name(name)):
            raise ConfigurationInvalid(f"lora {given[:100]!r} is not NAME=PATH; {NAME_RULE}", param="lora")
        if name in adapters:
            raise ConfigurationInvalid(f"two adapters have the name {name!r}", param="lora")
        adapters[name] = AdapterSetting(name=name, path=str(Path(path).expanduser().absolute()))
    return list(adapters.values())


def overrides_of(config: ServeConfig, mmproj: str | None = None) -> ModelOverrides:
    """The overrides of the model's own files; `mmproj` is the setting of the actors."""
    template = config.chat_template
    return ModelOverrides(
        chat_template=None if template is None else str(template.expanduser().resolve()),
        tool_format=config.tool_format,
        mmproj=mmproj,
    )


def has_draft_head(config: ServeConfig) -> bool:
    """True if drafts come from the model's head."""
    return isinstance(config.speculation, str)


def max_drafts_of(config: ServeConfig) -> int:
    """The most draft tokens of a sequence in a step."""
    if not isinstance(config.speculation, str):
        return config.speculation
    _, _, count = config.speculation.partition(":")
    return int(count or DRAFTS_OF_HEAD)


def pictures_of(config: ServeConfig) -> PictureAccess:
    """The places that pictures are read from."""
    root = config.image_root
    return PictureAccess(root=None if root is None else str(root.expanduser().resolve()), hosts=config.image_hosts)


def worker_settings_of(config: ServeConfig) -> WorkerSettings:
    """The settings of each worker of a model, without its name and its files."""
    return WorkerSettings(
        worker_id="",
        weights=config.weights,
        kv_cache=config.kv_cache,
        threads=config.threads,
        max_sequences=config.max_sequences,
        token_budget=config.token_budget,
        cache_tokens=config.cache_tokens,
        cache_bytes=config.cache_bytes,
        checkpoints=config.checkpoints,
        checkpoint_tokens=config.checkpoint_tokens,
        speculation=max_drafts_of(config),
        draft_head=has_draft_head(config),
    )


@dataclass(frozen=True, kw_only=True)
class ServiceModel:
    """A model of the service: its name (empty for the only one), its configuration, and its files.

    `model` and `mmproj` name the same files for every actor; `own_name` is that in its files, None if they were not
    read. `memory` is None without `max_model_bytes`.
    """

    name: str
    aliases: tuple[str, ...]
    config: ServeConfig
    model: str
    mmproj: str | None
    own_name: str | None = None
    memory: ModelMemory | None = None

    @property
    def size(self) -> WorkerRange:
        """The range of its workers."""
        return worker_range(self.config.workers)

    @property
    def routed(self) -> RoutedModel:
        """What the router and the gateway of a service of several models know of it."""
        config = self.config
        return RoutedModel(
            name=self.name,
            aliases=list(self.aliases),
            model=self.model,
            overrides=overrides_of(config, self.mmproj),
            weights=config.weights,
            kv_cache=cache_format(config.kv_cache, config.weights),
            adapters=adapters_of(config),
            desired_workers=self.size.num_at_start,
            size=None if self.size.is_fixed else self.size,
            unload_after_s=config.unload_after_s,
            memory=self.memory,
            probe_file=config.handoff.probe_file,
            probability_file=config.handoff.probability_file,
            prompt_probe_file=config.handoff.prompt_probe_file,
        )


@dataclass(frozen=True, kw_only=True)
class ActorSettings:
    """`models` has the default one first; `job_log` is a path, None for no log.

    `api_keys` maps the digests of accepted API keys to their grants.
    """

    config: ServeConfig
    models: Sequence[ServiceModel]
    keys: ServiceKeys
    api_keys: dict[str, KeyGrants]
    journal_dir: Path | None
    job_log: str | None
    otlp_endpoint: str | None

    @property
    def _routed(self) -> list[RoutedModel]:
        """The models of a service of several; empty for one model."""
        return [model.routed for model in self.models] if self.config.models else []

    def router(
        self,
        *,
        jobs: str,
        stream: str,
        workers: str,
        desired_workers: dict[str, int],
        unloaded: Collection[str],
        fixed: Collection[str],
        leaving_nodes: Sequence[LeavingNode] = (),
        has_cloud: bool,
    ) -> RouterSettings:
        """The router's settings; `desired_workers` are by the names of the models, of which some are `unloaded`.

        Of the `fixed` ones an operator has set the number; `leaving_nodes` are those whose workers leave.
        """
        config, first = self.config, self.models[0]
        models = [
            msgspec.structs.replace(
                it,
                desired_workers=desired_workers[it.name],
                begins_unloaded=it.name in unloaded,
                is_size_fixed=it.name in fixed,
            )
            for it in self._routed
        ]
        return RouterSettings(
            model=first.model,
            overrides=overrides_of(first.config, first.mmproj),
            cascade=self.config.cascade,
            models=models,
            pictures=pictures_of(self.config),
            jobs_endpoint=jobs,
            stream_endpoint=stream,
            workers_endpoint=workers,
            desired_workers=desired_workers[first.name],
            size=first.routed.size,
            is_size_fixed=first.name in fixed,
            scaling=config.scaling,
            leaving_nodes=list(leaving_nodes),
            unload_after_s=config.unload_after_s,
            begins_unloaded=first.name in unloaded,
            max_model_bytes=config.max_model_bytes,
            memory=first.memory,
            max_queued_jobs=config.max_queued_jobs,
            job_timeout_s=config.job_timeout_s,
            max_memory_bytes=config.max_router_bytes,
            journal_dir=None if self.journal_dir is None else str(self.journal_dir),
            max_journal_picture_bytes=config.max_journal_picture_bytes,
            corpus=None if config.corpus is None else str(config.corpus.expanduser().resolve()),
            keys_dir=self.keys.directory,
            accounts=accounts_of(self.api_keys),
            confidence_signal=config.handoff.confidence_signal,
            first_gate_tokens=config.handoff.first_gate_tokens,
            gate=config.handoff.gate,
            prompt_threshold=config.handoff.prompt_threshold,
            prompt_probe_file=config.handoff.prompt_probe_file,
            probe_file=config.handoff.probe_file,
            probability_file=config.handoff.probability_file,
            max_handoff_share=config.handoff.max_share,
            max_handoff_wait_s=config.handoff.max_wait_s,
            has_cloud=has_cloud,
            audit_share=config.handoff.audit_share,
            job_log=self.job_log,
            job_log_max_bytes=config.job_log_max_bytes,
            job_log_num_kept=config.job_log_num_kept,
            job_log_max_age_s=config.job_log_max_age_s,
            otlp_endpoint=self.otlp_endpoint,
            weights=config.weights,
            kv_cache=cache_format(config.kv_cache, config.weights),
            alias=config.alias,
            adapters=adapters_of(config),
        )

    def cpus_of(self, workers: Mapping[str, int]) -> list[int]:
        """The CPUs of each worker, given the number of those of each model."""
        return [it.config.threads for it in self.models for _ in range(workers[it.name])]

    def worker(self, model: str, worker_id: str) -> WorkerSettings:
        """The settings of a worker of the model of that name."""
        [served] = [it for it in self.models if it.name == model]
        return msgspec.structs.replace(
            worker_settings_of(served.config),
            worker_id=worker_id,
            served_as=model,
            model=served.model,
            mmproj=served.mmproj,
            key_file=self.keys.worker,
        )

    def handoff(self) -> HandoffSettings:
        handoff, state_dir = self.config.handoff, self.config.state_dir.expanduser().resolve()
        return msgspec.structs.replace(
            handoff,
            key_file=self.keys.worker,
            spending_file=handoff.spending_file or str(state_dir / "cloud-spending.json"),
            audit_dir=handoff.audit_dir or str(audit_directory(state_dir)),
            audit_tiers=self.config.cascade.audited_models,
            audit_model=self.config.cascade.last_model,
        )

    def gateway(self, listen: str) -> GatewaySettings:
        """The gateway's settings; `listen` is HOST:PORT."""
        config, first = self.config, self.models[0]
        return msgspec.structs.replace(
            config.gateway,
            model=first.model,
            overrides=overrides_of(first.config, first.mmproj),
            models=self._routed,
            cascade=self.config.cascade,
            listen=listen,
            ollama=config.ollama,
            page=config.page,
            alias=config.alias,
            tls_cert=None if config.tls_cert is None else str(config.tls_cert.expanduser().absolute()),
            tls_key=None if config.tls_key is None else str(config.tls_key.expanduser().absolute()),
            behind_proxy=config.behind_proxy,
            key_digests=list(self.api_keys),
            operator_digests=[digest for digest, grants in self.api_keys.items() if grants.is_operator],
            state_dir=str(config.state_dir.expanduser()),
            key_file=self.keys.gateway,
        )
