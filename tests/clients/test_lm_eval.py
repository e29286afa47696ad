"""EleutherAI's lm-eval: log-likelihoods of tasks made here, without a hub, from `/v1/completions`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.models.catalog import resolve_model
from cactus_actors.sdk import cactus_destroy, cactus_init, cactus_score_window, cactus_tokenize
from tests.support.services.real_service import RealService
from tests.support.text.client_questions import MODEL

pytestmark = pytest.mark.skipif(find_spec("lm_eval") is None, reason="lm-eval is not installed: `make lm-eval`")

# without space at the end, which lm-eval would move into the endings
ASKED = "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant"
ENDINGS = [
    {"context": ASKED, "ending": "\nThe capital of France is Paris."},
    {"context": ASKED, "ending": "\nIt is the sea."},
    {"context": "Once upon a time there was", "ending": " a fox."},
]
CHOICES = [
    {
        "context": ASKED,
        "endings": ["\nI like green apples.", "\nThe capital of France is Paris.", "\nSeven"],
        "answer": 1,
    },
    {"context": "Two and two are", "endings": [" four", " a very long river of stones"], "answer": 0},
    {"context": "The sea is", "endings": [" blue", " qwxz"], "answer": 1},
]
TASKS: dict[str, dict[str, Any]] = {
    "endings": {
        "output_type": "loglikelihood",
        "doc_to_target": "{{ending}}",
        "metric_list": [{"metric": "acc"}],
    },
    "choices": {
        "output_type": "multiple_choice",
        "doc_to_choice": "{{endings}}",
        "doc_to_target": "{{answer}}",
        "metric_list": [{"metric": "acc"}],
    },
}


class Evaluation:
    """What the command `lm-eval` wrote to a folder."""

    def __init__(self, folder: Path) -> None:
        [summary] = folder.rglob("results_*.json")
        self._results = json.loads(summary.read_text())["results"]
        self._folder = folder

    def accuracy(self, task: str) -> float:
        return float(self._results[task]["acc,none"])

    def scores(self, task: str) -> list[list[tuple[float, bool]]]:
        """For each document, the log-likelihood of each of its endings, and whether the model would say it."""
        [samples] = self._folder.rglob(f"samples_{task}_*.jsonl")
        documents = sorted(
            (json.loads(line) for line in samples.read_text().splitlines()), key=lambda one: one["doc_id"]
        )
        return [[(float(score), said in (True, "True")) for [(score, said)] in one["resps"]] for one in documents]


@pytest.fixture(scope="module")
def evaluation(service: RealService, tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    folder = tmp_path_factory.mktemp("lm-eval")
    for (name, task), documents in zip(TASKS.items(), (ENDINGS, CHOICES), strict=True):
        rows = folder / f"{name}.jsonl"
        rows.write_text("".join(json.dumps(document) + "\n" for document in documents))
        whole = task | {
            "task": name,
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": {"test": str(rows)}},
            "test_split": "test",
            "doc_to_text": "{{context}}",
            "target_delimiter": "",
        }
        (folder / f"{name}.yaml").write_text(json.dumps(whole))
    options = {
        "model": MODEL,
        "base_url": f"{service.url}/v1/completions",
        "tokenizer": resolve_model(MODEL),
        "tokenizer_backend": "huggingface",
        "max_length": 1024,
        "num_concurrent": 2,
    }
    arguments = ["--model", "local-completions", "--include_path", folder, "--tasks", ",".join(TASKS)]
    arguments += ["--model_args", ",".join(f"{name}={value}" for name, value in options.items())]
    arguments += ["--output_path", folder / "out", "--log_samples"]
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hub"), "no_proxy": "127.0.0.1"}
    command = [sys.executable, "-m", "lm_eval", "run", *map(str, arguments)]
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 0, run.stderr
    return Evaluation(folder / "out")


@pytest.fixture(scope="module")
def model() -> Iterator[Any]:
    handle = cactus_init(MODEL, None, False)
    yield handle
    cactus_destroy(handle)


def score(model: Any, context: str, ending: str) -> float:
    """The log-likelihood of an ending by the SDK, at the same token border."""
    tokens, start = cactus_tokenize(model, context + ending), len(cactus_tokenize(model, context))
    return float(json.loads(cactus_score_window(model, tokens, start, len(tokens), start))["logprob"])


def test_log_likelihoods_are_those_of_the_sdk(evaluation: Evaluation, model: Any) -> None:
    expected = [[score(model, one["context"], one["ending"])] for one in ENDINGS]
    assert [[value for value, _ in scores] for scores in evaluation.scores("endings")] == expected


def test_log_likelihoods_of_choices_are_those_of_the_sdk(evaluation: Evaluation, model: Any) -> None:
    expected = [[score(model, one["context"], ending) for ending in one["endings"]] for one in CHOICES]
    assert [[value for value, _ in scores] for scores in evaluation.scores("choices")] == expected
    best = [values.index(max(values)) for values in expected]
    right = sum(place == one["answer"] for place, one in zip(best, CHOICES, strict=True))
    assert evaluation.accuracy("choices") == pytest.approx(right / len(CHOICES))


def test_the_endings_that_the_model_would_say_are_recognised(evaluation: Evaluation) -> None:
    assert [scores[0][1] for scores in evaluation.scores("endings")] == [True, False, False]
    assert evaluation.accuracy("endings") == pytest.approx(1 / 3)
