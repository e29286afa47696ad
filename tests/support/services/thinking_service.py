"""A service of a tiny model with random weights that reasons: real router, worker and gateway, in threads."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import tokenizers
from tokenizers import AddedToken, decoders, models, pre_tokenizers

from cactus_actors.config import GatewaySettings, RouterSettings, WorkerSettings
from cactus_actors.router.actor import RouterActor
from cactus_actors.text import load_text_model
from cactus_actors.text.tokenizer import byte_of_character
from cactus_actors.workers.actor import WorkerActor
from tests.support.paths import GOLDENS
from tests.support.router.standing_objects import exempt_standing_objects
from tests.support.services.fake_worker_service import ANY_PORT, FakeWorker, FakeWorkerService

WEIGHTS = GOLDENS / "llama3"
OPENS_ITSELF = (
    "{% for m in messages %}<{{ m.role }}>{% if m.reasoning_content %}({{ m.reasoning_content }}){% endif %}"
    "{{ m.content }}{% endfor %}{% if add_generation_prompt %}<me>\n<think>\n{% endif %}"
)
"""A template whose prompt opens the reasoning, and which includes earlier reasoning."""
MARKS = ("<think>", "</think>")


def write_model(directory: Path, template: str = OPENS_ITSELF, marks: tuple[str, ...] = MARKS) -> Path:
    """Write the files of a byte-level model in whose vocabulary `marks` follow the bytes."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("config.json", "model.safetensors"):
        shutil.copy(WEIGHTS / name, directory / name)
    inner = tokenizers.Tokenizer(models.BPE({c: i for i, c in enumerate(byte_of_character())}, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_tokens([AddedToken(text, special=False) for text in marks])
    inner.add_special_tokens([AddedToken("<|end|>", special=True)])
    inner.save(str(directory / "tokenizer.json"))
    (directory / "generation_config.json").write_text(json.dumps({"eos_token_id": 256 + len(marks)}))
    (directory / "chat_template.jinja").write_text(template)
    return directory


@contextmanager
def thinking_service(
    directory: Path, template: str = OPENS_ITSELF, marks: tuple[str, ...] = MARKS
) -> Iterator[FakeWorkerService]:
    """A service of that model, whose files and state are in `directory`."""
    path = write_model(directory / "model", template, marks)
    text = load_text_model(path)
    router = RouterActor(RouterSettings(jobs_endpoint=ANY_PORT, stream_endpoint=ANY_PORT), text)
    exempt_standing_objects()
    endpoints = router.start()
    settings = WorkerSettings(
        worker_id="w", model=str(path), weights="float32", threads=1, max_sequences=8, cache_tokens=8192
    )
    worker = WorkerActor(settings)
    threads = [
        threading.Thread(target=router.run, daemon=True),
        threading.Thread(target=worker.run, args=(endpoints.workers,), daemon=True),
    ]
    for thread in threads:
        thread.start()
    asked = GatewaySettings(listen="127.0.0.1:0", state_dir=str(directory / "state"), model=str(path))
    service = FakeWorkerService(router, endpoints, FakeWorker(endpoints.workers), asked, text)
    try:
        service.start_gateway()
        yield service
        service.stop_gateway()
    finally:
        worker.stop()
        router.stop()
        for thread in threads:
            thread.join(60)
