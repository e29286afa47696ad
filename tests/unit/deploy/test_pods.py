"""Pods: nothing of them is writable but volumes, and what they name exists in the service and in Ray."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.testing

from cactus_actors.cli import serve
from cactus_actors.cli.main import app
from cactus_actors.config import ServeConfig
from cactus_actors.fleet.actor_handle import DEFAULT_HEALTH_TIMEOUTS
from cactus_actors.gateway.request_guard import PUBLIC_PATHS
from cactus_actors.gateway.routes.health import HANDLERS
from cactus_actors.service.preflight import check_settings
from docs.generate.helm_chart import rendered_chart
from docs.generate.manifests import MANIFESTS
from tests.support.deploy.manifests import PODS, SERVING, Pod, manifests_of, of_kind
from tests.support.paths import ROOT
from tests.support.text.documents import page

EACH = pytest.mark.parametrize("pod", PODS, ids=str)
EACH_SERVING = pytest.mark.parametrize("pod", SERVING, ids=str)
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
IN_IMAGE = dict(word.split("=") for line in re.findall(r"^ENV (.*)$", DOCKERFILE, re.M) for word in line.split())
RAY_OPTIONS = """
from ray.scripts.scripts import start
print(*(spelling for parameter in start.params for spelling in parameter.opts))
"""
NUM_STOPS = 3
"""The gateway ends, then the router, then workers and handoff actor."""


@EACH
def test_every_container_is_without_rights(pod: Pod) -> None:
    [uid] = re.findall(r"useradd --uid (\d+) ", DOCKERFILE)
    security = pod.spec["securityContext"]
    assert security["runAsNonRoot"] is True
    assert {security[name] for name in ("runAsUser", "runAsGroup", "fsGroup")} == {int(uid)}
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    # Otherwise each start would let the group read all files, and private ones are refused then.
    assert security["fsGroupChangePolicy"] == "OnRootMismatch"
    for container in pod.containers:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


@EACH
def test_every_container_asks_for_resources(pod: Pod) -> None:
    for container in pod.containers:
        assert set(container["resources"]["requests"]) == {"cpu", "memory"}
        assert "memory" in container["resources"]["limits"]


@EACH
def test_what_the_service_writes_is_on_volumes(pod: Pod) -> None:
    volumes = {volume["name"]: volume for volume in pod.spec["volumes"]}
    mounts = {mount["mountPath"]: mount for mount in pod.main["volumeMounts"]}
    assert {mount["name"] for mount in mounts.values()} <= set(volumes)
    writable = {path for path, mount in mounts.items() if not mount.get("readOnly")}
    assert all({"emptyDir", "persistentVolumeClaim"} & set(volumes[mounts[path]["name"]]) for path in writable)
    for written in (*IN_IMAGE.values(), "/tmp"):
        assert any(Path(written).is_relative_to(path) for path in writable), written
    [home] = [mounts[path] for path in writable if path == IN_IMAGE["HOME"]]
    assert home["subPath"] == "home"  # the volume itself is open to all


@EACH_SERVING
def test_liveness_and_readiness_ask_different_public_paths(pod: Pod) -> None:
    asked = {name: pod.main[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "liveness", "readiness")}
    assert asked["liveness"] == asked["startup"] != asked["readiness"]
    assert set(asked.values()) <= PUBLIC_PATHS
    assert set(asked.values()) <= {path for handler in HANDLERS for path in handler.paths}
    port = pod.main["livenessProbe"]["httpGet"]["port"]
    [listened] = [it["containerPort"] for it in pod.main["ports"] if it["name"] == port]
    assert f"--http=0.0.0.0:{listened}" in pod.main["args"]


@EACH_SERVING
def test_a_pod_may_take_as_long_as_a_drain_takes(pod: Pod) -> None:
    [drain_s] = [float(it.partition("=")[2]) for it in pod.main["args"] if it.startswith("--drain-timeout=")]
    before_s = float(pod.main["lifecycle"]["preStop"]["exec"]["command"][1])
    needed_s = before_s + drain_s + NUM_STOPS * DEFAULT_HEALTH_TIMEOUTS.stop_s
    assert needed_s + 5 <= pod.spec["terminationGracePeriodSeconds"]


def config_of(pod: Pod, directory: Path, monkeypatch: pytest.MonkeyPatch) -> ServeConfig:
    """The configuration that `cactus serve` reads from the options of a pod and from its file."""
    [file] = [manifest["data"]["cactus.toml"] for manifest in of_kind(pod.file, "ConfigMap")]
    path = directory / "cactus.toml"
    path.write_text(file)
    words = [it.replace("/etc/cactus/cactus.toml", str(path)) for it in pod.main["args"]]
    words = [it.replace("$(POD_IP)", "10.0.0.1") for it in words]
    read: list[ServeConfig] = []
    monkeypatch.setattr(serve, "run_service", read.append)
    done = typer.testing.CliRunner().invoke(app, ["serve", *(word for word in words if word != "serve")])
    assert done.exit_code == 0, done.output
    [config] = read
    return config


@EACH_SERVING
def test_the_service_accepts_the_options(pod: Pod, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of(pod, tmp_path, monkeypatch)
    [keys] = [it for it in pod.main["env"] if it["name"] == "CACTUS_API_KEYS"]
    assert keys["valueFrom"]["secretKeyRef"] == {"name": "cactus-api-keys", "key": "keys"}
    assert len(check_settings(config, {"CACTUS_API_KEYS": "a-key-of-a-client"})) == 1
    assert (config.ray_address == "auto") == config.curve == bool(pod.ray_start)


def test_with_a_certificate_the_pod_has_tls_and_probes_use_it() -> None:
    pytest.importorskip("helm_python")
    text = rendered_chart({"tlsSecret": "certificate"})
    assert "--tls-cert=/etc/cactus-tls/tls.crt" in text
    assert "--behind-proxy" not in text
    assert set(re.findall(r"scheme: (\w+)", text)) == {"HTTPS"}


@pytest.fixture(scope="module")
def ray_options() -> set[str]:
    """The options of `ray start`. Another process imports Ray: here it would fix the environment of Ray's tests."""
    command = [sys.executable, "-c", RAY_OPTIONS]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())


@EACH
def test_ray_start_has_the_options(pod: Pod, ray_options: set[str]) -> None:
    assert {f"--{name}" for name in pod.ray_start} <= ray_options
    ports = [value for name, value in pod.ray_start.items() if name.endswith("-port")]
    assert len(ports) == len(set(ports))
    assert "8080" not in ports


@EACH
def test_documented_variables_are_set(pod: Pod) -> None:
    documented = page("reference/configuration.md") + page("guide/deployment.md")
    own = {"POD_IP"}
    for variable in (*IN_IMAGE, *(it["name"] for it in pod.main.get("env", []))):
        assert f"`{variable}" in documented or variable in (own | {"HOME"}), variable


def selected(selector: dict[str, str], file: str) -> list[str]:
    """The components whose pods a selector matches."""
    pods = [pod for pod in PODS if pod.file == file and selector.items() <= pod.labels.items()]
    return [pod.labels["app.kubernetes.io/component"] for pod in pods]


@pytest.mark.parametrize("file", MANIFESTS)
def test_selectors_match_the_pods_that_they_are_for(file: str) -> None:
    components = [pod.labels["app.kubernetes.io/component"] for pod in PODS if pod.file == file]
    [service] = of_kind(file, "Service")
    assert selected(service["spec"]["selector"], file) == ["service"]
    budgets = [it["spec"]["selector"]["matchLabels"] for it in of_kind(file, "PodDisruptionBudget")]
    assert [selected(it, file) for it in budgets] == [[component] for component in components]
    everybody, http = (it["spec"] for it in of_kind(file, "NetworkPolicy"))
    assert selected(everybody["podSelector"]["matchLabels"], file) == components
    assert everybody["policyTypes"] == ["Ingress", "Egress"]
    assert everybody["ingress"] == [{"from": [{"podSelector": everybody["podSelector"]}]}]
    assert selected(http["podSelector"]["matchLabels"], file) == ["service"]
    assert [rule["ports"] for rule in http["ingress"]] == [[{"protocol": "TCP", "port": "http"}]]


@pytest.mark.parametrize("file", MANIFESTS)
def test_named_objects_exist(file: str) -> None:
    names = {(it["kind"], it["metadata"]["name"]) for it in manifests_of(file)}
    volumes: list[dict[str, Any]] = [it for pod in PODS if pod.file == file for it in pod.spec["volumes"]]
    for volume in volumes:
        if "configMap" in volume:
            assert ("ConfigMap", volume["configMap"]["name"]) in names
        if "persistentVolumeClaim" in volume:
            assert ("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"]) in names
