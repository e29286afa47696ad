"""Workers of one model have its weights in memory once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from cactus_actors.workers.loading.random_weights import parse_random_spec, random_tensors
from tests.support.paths import ROOT

SPEC = "llama:hidden=512,ffn=1536,layers=5,heads=8,kv_heads=4,head_dim=64,vocab=8192,context=128,tied=0"

WORKER = """
import sys
from pathlib import Path

import numpy as np

from cactus_actors.workers.engine.step_batch import Batch
from cactus_actors.workers.loading.load_model import load_model

model = load_model(Path(sys.argv[1]), weights="int8", threads=1)
tokens = np.arange(20, dtype=np.int32)
batch = Batch(tokens, tokens, np.zeros_like(tokens), np.arange(2, dtype=np.int32)[None], tokens)
assert np.isfinite(model.forward(batch, model.new_cache(2))).all()
print("computed", flush=True)
sys.stdin.readline()

counts = {}
is_packed = False
for line in Path("/proc/self/smaps").read_text().splitlines():
    key, *values = line.split()
    if not key.endswith(":"):
        is_packed = values[-1].endswith(".cactus")
    elif is_packed and values[-1] == "kB":
        counts[key] = counts.get(key, 0) + int(values[0])
print(counts["Rss:"], counts["Pss:"], counts["Private_Dirty:"], flush=True)
sys.stdin.readline()
"""


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama of 22 million weights, 43 MB."""
    config = parse_random_spec(SPEC)
    directory = tmp_path_factory.mktemp("model")
    tensors = random_tensors(config, 1)
    stored = {name if name == "lm_head" else f"model.{name}": tensors[name] for name in tensors}
    save_file(
        {f"{name}.weight": tensor.astype(np.float16) for name, tensor in stored.items()},
        directory / "model.safetensors",
    )
    (directory / "config.json").write_text(
        json.dumps(
            {
                "architectures": ["LlamaForCausalLM"],
                "vocab_size": config.vocab_size,
                "hidden_size": config.hidden_size,
                "intermediate_size": config.ffn_size,
                "num_hidden_layers": config.num_layers,
                "num_attention_heads": config.num_heads,
                "num_key_value_heads": config.num_kv_heads,
                "head_dim": config.head_dim,
                "max_position_embeddings": config.max_context,
                "tie_word_embeddings": False,
            }
        )
    )
    return directory


class Worker:
    """A process that has loaded the model and computed a step."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def say(self) -> str:
        """Read its next line."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def go_on(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()


@contextmanager
def worker(checkpoint: Path) -> Iterator[Worker]:
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER, checkpoint],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    with process:
        try:
            yield Worker(process)
        finally:
            process.kill()


def test_two_processes_share_the_pages_of_the_packed_file(checkpoint: Path) -> None:
    with worker(checkpoint) as one, worker(checkpoint) as other:
        assert (one.say(), other.say()) == ("computed", "computed")
        for each in (one, other):
            each.go_on()
        counts = [[int(count) for count in each.say().split()] for each in (one, other)]
    for resident_kb, share_kb, written_kb in counts:
        assert resident_kb > 20_000
        assert share_kb < 0.55 * resident_kb
        assert written_kb == 0
