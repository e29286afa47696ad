"""A service's documents in the prompts of its jobs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.protocol.errors import ConfigurationInvalid, InvalidRequest
from cactus_actors.protocol.messages import ChatMessage, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import Source
from cactus_actors.protocol.worker_messages import Finish
from cactus_actors.router.preparation.documents import Documents, with_documents
from cactus_actors.router.preparation.prepare_request import prepare
from tests.support.router.core_harness import RouterHarness, job_id
from tests.support.router.letter_model import LetterModel
from tests.support.router.memory_journal import Disk

FERRY = "The ferry leaves at nine."


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "ferry.md").write_text(FERRY)
    (tmp_path / "museum.md").write_text("The museum and the ferry museum show clocks.")
    return tmp_path


@pytest.fixture
def documents(corpus: Path) -> Iterator[Documents]:
    documents = Documents(corpus, LetterModel(), refresh_s=0.02)
    yield documents
    documents.close()


def chat(content: Any = "When does the ferry leave?", **options: Any) -> Submit:
    turn = ChatMessage(role="user", content=content)
    return Submit(job_id=job_id(1), messages=[turn], options=Options(**options))


def prepared(documents: Documents, submit: Submit) -> tuple[str, list[str]]:
    """The prompt that the job gets, and the names of its sources."""
    sources = documents.find(submit)
    ids = prepare(with_documents(submit, sources), LetterModel()).prompt_ids
    return LetterModel().tokenizer.decode(ids), [source.source for source in sources]


def test_matching_chunks_precede_the_question(documents: Documents) -> None:
    prompt, sources = prepared(documents, chat())
    assert FERRY in prompt
    assert prompt.endswith("|When does the ferry leave?")
    assert sources == ["ferry.md", "museum.md"]


@pytest.mark.parametrize(("wanted", "sources"), [(0, []), (1, ["ferry.md"]), (1024, ["ferry.md", "museum.md"])])
def test_num_documents_limits_the_documents(documents: Documents, wanted: int, sources: list[str]) -> None:
    prompt, found = prepared(documents, chat(tool_rag_top_k=wanted))
    assert found == sources
    assert (FERRY in prompt) is bool(sources)


def test_a_negative_num_documents_is_refused(documents: Documents) -> None:
    with pytest.raises(InvalidRequest) as raised:
        prepared(documents, chat(tool_rag_top_k=-1))
    assert raised.value.param == "tool_rag_top_k"


@pytest.mark.parametrize("submit", [Submit(job_id=job_id(1), prompt="ferry"), chat("Hello!")])
def test_plain_prompts_and_questions_without_matches_are_unchanged(documents: Documents, submit: Submit) -> None:
    prompt, sources = prepared(documents, submit)
    assert sources == []
    assert "leaves" not in prompt


def test_a_changed_file_is_indexed_again(documents: Documents, corpus: Path) -> None:
    (corpus / "ferry.md").write_text("The ferry leaves at noon.")
    until = time.monotonic() + 60
    while "noon" not in prepared(documents, chat())[0]:
        assert time.monotonic() < until
        time.sleep(0.02)


def test_documents_fill_at_most_half_of_the_context(tmp_path: Path) -> None:
    for number in range(9):
        (tmp_path / f"{number}.md").write_text("ferry " * 100)
    documents = Documents(tmp_path, LetterModel())
    prompt, sources = prepared(documents, chat(tool_rag_top_k=9))
    documents.close()
    assert len(sources) == 3  # of 620 letters each, in a context of 4096
    assert len(prompt) < LetterModel.max_context // 2 + 200


def test_the_result_names_the_sources(documents: Documents) -> None:
    router = RouterHarness(find=documents.find)
    worker = router.connect()
    router.client(chat())
    [dispatch] = worker.dispatches.values()
    assert FERRY in LetterModel().tokenizer.decode(dispatch.prompt_ids)
    router.generate(1, "nine", finish=Finish("stop"))
    assert [source.source for source in router.result(1).sources] == ["ferry.md", "museum.md"]


def test_a_restored_job_keeps_its_documents(documents: Documents) -> None:
    disk = Disk()
    first = RouterHarness(disk=disk, find=documents.find)
    first.client(chat())
    disk.write()
    second = RouterHarness(disk=disk, find=lambda _: [Source(source="new.md", content="New.", score=1.0)])
    worker = second.connect()
    [dispatch] = worker.dispatches.values()
    prompt = LetterModel().tokenizer.decode(dispatch.prompt_ids)
    assert FERRY in prompt
    assert "New." not in prompt


def test_a_path_that_is_not_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationInvalid, match="nowhere"):
        Documents(tmp_path / "nowhere", LetterModel())
