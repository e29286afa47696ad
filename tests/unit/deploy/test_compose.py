"""The compose file: its schema, the files that it mounts, and the service's options in it."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer.testing
import yaml

from cactus_actors.cli import serve
from cactus_actors.cli.main import app
from cactus_actors.config import ServeConfig
from cactus_actors.service.preflight import check_settings
from tests.support.paths import ROOT

FOLDER = ROOT / "deploy" / "compose"
COMPOSE: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
SCHEMA = resources.files("check_jsonschema").joinpath("builtin_schemas", "vendor", "compose-spec.json")


def mounts(service: str) -> dict[str, str]:
    """What a service mounts, by the path in its container."""
    return {path.split(":")[1]: path.split(":")[0] for path in SERVICES[service]["volumes"]}


def seconds(text: str) -> float:
    return float(text.removesuffix("s"))


def errors_of(compose: dict[str, Any]) -> list[str]:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return [error.message for error in jsonschema.validators.validator_for(schema)(schema).iter_errors(compose)]


def test_the_file_fits_the_schema_of_compose() -> None:
    assert errors_of(COMPOSE) == []
    assert errors_of({**COMPOSE, "services": {"cactus": {"imag": "x"}}}) != []


def test_mounted_files_and_volumes_exist() -> None:
    for name in SERVICES:
        for source in mounts(name).values():
            assert (FOLDER / source).exists() if source.startswith(".") else source in COMPOSE["volumes"], source
    assert (FOLDER / SERVICES["cactus"]["build"]["context"] / SERVICES["cactus"]["build"]["dockerfile"]).is_file()


@pytest.mark.parametrize("name", SERVICES)
def test_containers_have_no_rights_and_ports_on_loopback_only(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])


def test_the_service_accepts_the_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[ServeConfig] = []
    monkeypatch.setattr(serve, "run_service", read.append)
    settings = FOLDER / mounts("cactus")["/etc/cactus/cactus.toml"]
    command = [it.replace("/etc/cactus/cactus.toml", str(settings)) for it in SERVICES["cactus"]["command"]]
    done = typer.testing.CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    [config] = read
    assert check_settings(config, {"CACTUS_API_KEYS": "a-key-of-a-client"})
    assert config.gateway.public_metrics  # Prometheus has no key
    assert seconds(SERVICES["cactus"]["stop_grace_period"]) >= config.drain_timeout_s + 15


def test_prometheus_and_grafana_find_their_sources() -> None:
    scraped = yaml.safe_load((FOLDER / mounts("prometheus")["/etc/prometheus"] / "prometheus.yaml").read_text())
    [target] = scraped["scrape_configs"][0]["static_configs"][0]["targets"]
    assert target == f"cactus:{SERVICES['cactus']['ports'][0].rpartition(':')[2]}"
    provisioning = FOLDER / mounts("grafana")["/etc/grafana/provisioning"]
    [source] = yaml.safe_load((provisioning / "datasources" / "prometheus.yaml").read_text())["datasources"]
    assert source["url"] == f"http://prometheus:{SERVICES['prometheus']['ports'][0].rpartition(':')[2]}"
    [provider] = yaml.safe_load((provisioning / "dashboards" / "cactus.yaml").read_text())["providers"]
    assert any(Path(path).is_relative_to(provider["options"]["path"]) for path in mounts("grafana"))
