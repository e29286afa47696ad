"""A running service whose drafts come from the head of its model."""

from __future__ import annotations

from pathlib import Path

from cactus_actors.config import ServeConfig
from tests.support.models.draft_heads import GoldenHead
from tests.support.models.letter_tokenizer import write_letter_tokenizer
from tests.support.services.running_service import running_service


def test_a_service_drafts_with_the_head_of_its_model(tmp_path: Path) -> None:
    head = GoldenHead.read("qwen35")
    directory = head.write(tmp_path / "model")
    write_letter_tokenizer(directory, vocab_size=head.logits.shape[1])
    config = ServeConfig(
        model=str(directory),
        weights="float32",
        speculation="mtp:2",
        placement="local",
        workers=1,
        jobs_endpoint="tcp://127.0.0.1:*",
        stream_endpoint="tcp://127.0.0.1:*",
        state_dir=tmp_path / "state",
        http="",
    )
    with running_service(config) as service:
        result = service.client.complete(
            head.golden.prompt_ids,
            max_tokens=len(head.golden.greedy_ids),
            temperature=0.0,
            ignore_eos=True,
            cloud_handoff_threshold=0.0,
        )
        assert result.token_ids == head.golden.greedy_ids
        (worker,) = (each for each in service.client.status().workers if each.kind == "local")
        assert worker.draft_tokens > 0
        assert 0 <= worker.accepted_draft_tokens <= worker.draft_tokens
