"""`cactus serve` with a model of the hub: one download for any number of actors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cactus_actors.client import Client
from cactus_actors.config_models import DEFAULT_MODEL
from cactus_actors.models.catalog import resolve_model
from tests.support.http.fake_hub import FakeHub

FILES = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "model.safetensors",
)


@pytest.mark.slow
def test_a_model_of_the_hub_is_downloaded_once_and_then_served_offline(tmp_path: Path) -> None:
    embedded = resolve_model(DEFAULT_MODEL)
    files = {name: (embedded / name).read_bytes() for name in FILES if (embedded / name).is_file()}
    command = [
        sys.executable,
        "-m",
        "cactus_actors.cli.main",
        "serve",
        "--model",
        "owner/sprout",
        "--workers",
        "2",
        "--no-http",
    ]
    command += ["--jobs-endpoint", "tcp://127.0.0.1:*", "--stream-endpoint", "tcp://127.0.0.1:*"]
    with FakeHub({"owner/sprout": files}).serving() as hub:
        for offline, downloaded in (("0", sorted(files)), ("1", [])):
            hub.asked.clear()
            environment = {"HF_HOME": str(tmp_path), "HF_ENDPOINT": hub.url, "HF_HUB_OFFLINE": offline}
            with subprocess.Popen(
                [*command, "--state-dir", str(tmp_path / "state")],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=os.environ | environment,
            ) as service:
                try:
                    assert service.stdout is not None
                    first, *words = service.stdout.readline().split()
                    told = dict(word.split("=", 1) for word in words)
                    assert (first, told["model"]) == ("ready", "owner/sprout")
                    with Client(told["jobs"], told["stream"], timeout=60.0) as client:
                        assert client.status().model == "owner/sprout"
                        assert client.complete(prompt="Hello", max_tokens=3).usage.completion_tokens > 0
                    service.send_signal(signal.SIGTERM)
                    _, said = service.communicate(timeout=60)
                finally:
                    service.kill()
            assert service.returncode == 0
            assert hub.downloaded == downloaded
            assert ("is downloaded to" in said) == (offline == "0")
