"""`cactus serve --curve` as users run it: access by its keys, and the absence of keys in its output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from cactus_actors import AuthenticationFailed, Client, JobNotFound
from cactus_actors.keys.key_file import read_key_file
from cactus_actors.keys.key_store import KeyStore, keys_dir
from cactus_actors.router.telemetry.job_log import tenant_hash
from cactus_actors.service.service_keys import GATEWAY_KEY, WORKER_KEY
from tests.support.processes.serve_command import WITH_CLOUD

ANY_PORT = "tcp://127.0.0.1:*"
API_KEY = "sk-planted-0123456789abcdef"
LONG_PROMPT = "The quick brown fox jumps over the lazy dog, and the dog sleeps on. " * 8


@contextmanager
def serving_with_keys(place_options: list[str], state_dir: Path, output: Path) -> Iterator[dict[str, str]]:
    """The words of the ready line of a `cactus serve --curve`, which writes to `output`."""
    api_keys = state_dir / "api-keys"
    api_keys.touch(mode=0o600)
    api_keys.write_text(API_KEY)
    command = [
        sys.executable,
        "-m",
        "cactus_actors.cli.main",
        "serve",
        *place_options,
        "--curve",
    ]
    command += ["--state-dir", str(state_dir), "--jobs-endpoint", ANY_PORT, "--stream-endpoint", ANY_PORT]
    command += ["--http", "127.0.0.1:0", "--api-key-file", str(api_keys), "--job-log", "-"]
    command += ["--log-format", "json"]
    with (
        output.open("w") as log,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, env={**os.environ, **WITH_CLOUD}
        ) as process,
    ):
        assert process.stdout is not None
        try:
            ready = process.stdout.readline()
            log.write(ready)
            log.flush()
            assert ready.startswith("ready "), output.read_text()
            yield dict(word.split("=", 1) for word in ready.split()[1:])
        finally:
            process.terminate()
            log.write(process.communicate(timeout=30)[0])


def seen_by_others(*directories: Path) -> Iterator[tuple[str, bytes]]:
    """The command line and environment of every process, and every file below the directories."""
    for process in Path("/proc").iterdir():
        for name in ("cmdline", "environ"):
            with suppress(OSError):
                yield f"{process}/{name}", (process / name).read_bytes()
    for path in (path for directory in directories for path in directory.rglob("*")):
        with suppress(OSError):
            if path.is_file():
                yield str(path), path.read_bytes()


@pytest.mark.parametrize("place", ["local", pytest.param("ray", marks=pytest.mark.slow)], indirect=True)
def test_keys_give_access_and_appear_in_no_output(place_options: list[str], tmp_path: Path) -> None:
    state_dir, outside = tmp_path / "state", tmp_path / "outside"
    store = KeyStore(keys_dir(state_dir))
    alice, anna = store.add("alice", "client", "team"), store.add("anna", "client", "team")
    bob = store.add("bob", "client")
    outside.mkdir()
    with serving_with_keys(place_options, state_dir, outside / "output") as told:
        jobs, stream = told["jobs"], told["stream"]
        with (
            Client(jobs, stream, key_file=alice, timeout=60.0) as first,
            Client(jobs, stream, key_file=anna, timeout=60.0) as second,
            Client(jobs, stream, key_file=bob, timeout=60.0) as foreign,
        ):
            options = {"max_tokens": 4, "cache_salt": "shared", "seed": 1}
            assert first.complete(LONG_PROMPT, **options).usage.cached_tokens == 0
            assert foreign.complete(LONG_PROMPT, **options).usage.cached_tokens == 0
            assert second.complete(LONG_PROMPT, **options).usage.cached_tokens > 0
            assert foreign.complete(LONG_PROMPT, **options).usage.cached_tokens > 0

            job_id = first.submit("Hello", max_tokens=4)
            assert second.result(job_id).text == first.result(job_id).text
            with pytest.raises(JobNotFound):
                foreign.cancel(job_id)
            assert {worker.kind for worker in first.status().workers} == {"local", "cloud"}
        with Client(jobs, stream, key_file="", timeout=60.0) as nobody, pytest.raises(AuthenticationFailed):
            nobody.status()

        request = urllib.request.Request(
            f"{told['http']}/v1/completions",
            data=json.dumps({"prompt": "Hello", "max_tokens": 3}).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {API_KEY}"},
        )
        with urllib.request.urlopen(request) as response:  # the gateway has a key of its own
            assert json.load(response)["choices"]

        names = ("alice", "anna", "bob", WORKER_KEY, GATEWAY_KEY)
        secrets = [read_key_file(store.path_of(name)).pair.reveal() for name in names]
        secrets += [store.server_pair().reveal(), API_KEY]
        with_ray = "--ray-address" in place_options
        ray_files = [Path(os.environ["RAY_AUTH_TOKEN_PATH"]).parent / "ray"] if with_ray else []
        seen = dict(seen_by_others(*ray_files, outside, state_dir / "http", state_dir / "journal"))
        assert sum(str(state_dir).encode() in content for content in seen.values()) >= 1  # it would be found
        assert any("/logs/" in place for place in seen) == with_ray
        shown = [place for place, content in seen.items() if any(secret.encode() in content for secret in secrets)]
        assert shown == []
    output = (outside / "output").read_text()
    assert not any(secret in output for secret in secrets)
    said_on_stdout = ("ready ", "stopping: ", "stopped")
    logged = [json.loads(line) for line in output.splitlines() if not line.startswith(said_on_stdout)]
    jobs_logged = [line for line in logged if line["event"] == "job"]
    assert job_id in [line["job_id"] for line in jobs_logged]
    assert {line["tenant_hash"] for line in jobs_logged} == set(map(tenant_hash, ("team", "bob", GATEWAY_KEY)))
    assert any("starts" in line["message"] for line in logged if line["event"] == "service")
