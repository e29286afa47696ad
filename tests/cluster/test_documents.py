"""A service with documents: they go into prompts, and its results name them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cactus_actors.config import ServeConfig
from cactus_actors.protocol.errors import ConfigurationInvalid
from tests.support.services.running_service import running_service

QUESTION = [{"role": "user", "content": "When does the ferry leave?"}]


def config(state_dir: Path, corpus: Path) -> ServeConfig:
    return ServeConfig(
        workers=1,
        jobs_endpoint="tcp://127.0.0.1:*",
        stream_endpoint="tcp://127.0.0.1:*",
        state_dir=state_dir,
        http="",
        corpus=corpus,
    )


def test_documents_of_the_service_reach_prompts_and_results(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "ferry.md").write_text("The ferry leaves at nine.")
    with running_service(config(tmp_path / "state", corpus)) as service:
        result = service.client.complete(messages=QUESTION, temperature=0, max_tokens=8)
        without = service.client.complete(messages=QUESTION, temperature=0, max_tokens=8, tool_rag_top_k=0)
    assert [source.content for source in result.sources] == ["The ferry leaves at nine."]
    assert without.sources == []
    assert result.usage.prompt_tokens > without.usage.prompt_tokens


def test_a_missing_corpus_is_an_error_at_the_start(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigurationInvalid, match="nowhere"),
        running_service(config(tmp_path, tmp_path / "nowhere")),
    ):
        pass
