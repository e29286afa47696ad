"""Checks a configuration before anything is created or started."""

from __future__ import annotations

from collections.abc import Mapping

from cactus_actors.config import ServeConfig
from cactus_actors.gateway.http.api_keys import check_exposure, read_keys
from cactus_actors.gateway.http.certificate import check_certificate
from cactus_actors.handoff.settings_check import check_handoff
from cactus_actors.keys.key_file import read_key_file
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.protocol.key_grants import KeyGrants
from cactus_actors.service.model_configs import model_configs
from cactus_actors.service.ports import check_forms
from cactus_actors.service.service_keys import check_endpoints


def check_settings(config: ServeConfig, environment: Mapping[str, str]) -> dict[str, KeyGrants]:
    """Check the settings and return the grants of the API keys by digest. Raises ConfigurationInvalid; creates nothing.

    The settings come first, then the files that they name. On a cluster these files may be on another node, and
    the actor that reads them reports errors.
    """
    model_configs(config)
    check_forms(config)
    check_endpoints(config)
    check_handoff(config.handoff)
    is_encrypted = config.behind_proxy or config.tls_cert is not None
    api_keys: dict[str, KeyGrants] = {}
    if config.http:
        api_keys = read_keys(config.api_key_file, environment)
        check_exposure(config.http, api_keys, is_encrypted=is_encrypted)
        if config.ollama:
            check_exposure(config.ollama, api_keys, is_encrypted=is_encrypted, option="ollama")
    if config.ray_address is None:
        _check_files(config)
    return api_keys


def _check_files(config: ServeConfig) -> None:
    if config.http:
        check_certificate(config.tls_cert, config.tls_key)
    if config.curve and config.worker_key_file is not None:
        try:
            read_key_file(config.worker_key_file)
        except ConfigurationInvalid as error:
            raise ConfigurationInvalid(f"--worker-key-file: {error.message}", param="worker_key_file") from None
    if config.corpus is not None and not config.corpus.expanduser().is_dir():
        raise ConfigurationInvalid(f"--corpus: {config.corpus} is not a directory", param="corpus")
    if config.image_root is not None and not config.image_root.expanduser().is_dir():
        raise ConfigurationInvalid(f"--image-root: {config.image_root} is not a directory", param="image_root")
