"""The shell scripts in the manifests, run by a shell."""

from __future__ import annotations

import re
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from cactus_actors.keys.key_file import read_key_file
from cactus_actors.keys.key_store import KeyStore
from tests.support.deploy.manifests import PODS, SERVING

[HEAD] = [pod for pod in SERVING if pod.ray_start]
[NODE] = [pod for pod in PODS if pod not in SERVING]


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    """The folders of a pod: a volume that is open to all, keys of a Secret, and kernels of the image."""
    (tmp_path / "volume").mkdir()
    (tmp_path / "volume").chmod(0o2777)
    (tmp_path / "kernels").mkdir(mode=0o700)
    (tmp_path / "kernels" / "step.nbi").write_text("compiled")
    store = KeyStore(tmp_path / "keys")
    store.add("workers", "worker", path=tmp_path / "keys" / "worker.key")
    for path in (tmp_path / "keys").iterdir():
        path.chmod(0o440)
    return tmp_path / "volume"


def prepare(volume: Path) -> None:
    """Run the init container of the head, whose folders are below `volume`'s parent."""
    [container] = HEAD.spec["initContainers"]
    [script] = container["args"]
    script = script.replace("/volume/", f"{volume}/")
    script = re.sub(r'(?<=[ "])/keys/', f"{volume.parent}/keys/", script)
    environment = {"PATH": "/usr/bin:/bin", "NUMBA_CACHE_DIR": str(volume.parent / "kernels")}
    subprocess.run([*container["command"], script], env=environment, check=True)


def open_to_others(directory: Path) -> list[Path]:
    return [path for path in (directory, *directory.rglob("*")) if stat.S_IMODE(path.stat().st_mode) & 0o077]


def test_the_home_directory_is_private_and_has_keys_and_kernels(volume: Path) -> None:
    prepare(volume)
    home = volume / "home"
    assert open_to_others(home) == []
    assert (home / ".cache" / "numba" / "step.nbi").read_text() == "compiled"
    assert [key.name for key in KeyStore(home / ".cactus" / "keys").known()] == ["workers"]
    assert KeyStore(home / ".cactus" / "keys").server_pair().public == read_key_file(home / "worker.key").server_key


def test_a_restart_keeps_what_the_service_wrote_and_closes_what_was_opened(volume: Path) -> None:
    prepare(volume)
    home = volume / "home"
    KeyStore(home / ".cactus" / "keys").add("me", "operator")
    (home / ".cache" / "numba" / "step.nbi").write_text("compiled here")
    (home / ".cactus" / "keys" / "server.key").chmod(0o660)
    prepare(volume)
    assert open_to_others(home) == []
    assert [key.name for key in KeyStore(home / ".cactus" / "keys").known()] == ["workers", "me"]
    assert (home / ".cache" / "numba" / "step.nbi").read_text() == "compiled here"


def run_with_programs(directory: Path, words: list[str], environment: Mapping[str, str]) -> list[str]:
    """Run a command in which `ray` and `cactus` only write what they are called with; returns their calls."""
    for name in ("tini", "ray", "cactus"):
        program = directory / name
        then = 'shift; exec "$@"' if name == "tini" else f'echo {name} "$@" >> {directory}/calls'
        program.write_text(f"#!/bin/sh\n{then}\n")
        program.chmod(0o755)
    subprocess.run(words, env={"PATH": f"{directory}:/usr/bin:/bin", **environment}, check=True)
    return (directory / "calls").read_text().splitlines()


def test_the_head_starts_ray_and_becomes_the_service(tmp_path: Path) -> None:
    generated = {"KUBERAY_GEN_RAY_START_CMD": "ray start --head  --block  --num-cpus=0 "}
    calls = run_with_programs(tmp_path, [*HEAD.main["command"], *HEAD.main["args"]], generated)
    assert calls == ["ray start --head --num-cpus=0", " ".join(["cactus serve", *HEAD.main["args"]])]


def test_a_node_becomes_ray_that_blocks(tmp_path: Path) -> None:
    generated = {"KUBERAY_GEN_RAY_START_CMD": "ray start  --address=head:6379  --block "}
    calls = run_with_programs(tmp_path, [*NODE.main["command"], *NODE.main["args"]], generated)
    assert calls == ["ray start --address=head:6379 --block"]
