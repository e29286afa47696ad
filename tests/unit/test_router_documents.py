"""Documents of a service in the prompts of its jobs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.protocol.errors import ConfigurationInvalid, InvalidRequest
from cactus_actors.protocol.messages import ChatMessage, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.worker_messages import Finish
from router.documents import Documents
from router.job import Prepared
from tests import router_harness
from tests.router_harness import LetterModel, RouterHarness, job_id

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


def prompt_of(prepared: Prepared) -> str:
    return LetterModel().tokenizer.decode(prepared.prompt_ids)


def test_what_fits_the_question_stands_before_it(documents: Documents) -> None:
    prepared = documents.prepare(chat())
    assert FERRY in prompt_of(prepared)
    assert prompt_of(prepared).endswith("|When does the ferry leave?")
    assert [source.source for source in prepared.sources] == ["ferry.md", "museum.md"]


@pytest.mark.parametrize(
    ("wanted", "sources"), [(0, []), (1, ["ferry.md"]), (1024, ["ferry.md", "museum.md"])]
)
def test_so_many_as_are_wanted(documents: Documents, wanted: int, sources: list[str]) -> None:
    prepared = documents.prepare(chat(tool_rag_top_k=wanted))
    assert [source.source for source in prepared.sources] == sources
    assert (FERRY in prompt_of(prepared)) is bool(sources)


def test_a_number_below_none_is_refused(documents: Documents) -> None:
    with pytest.raises(InvalidRequest) as raised:
        documents.prepare(chat(tool_rag_top_k=-1))
    assert raised.value.param == "tool_rag_top_k"


@pytest.mark.parametrize("submit", [Submit(job_id=job_id(1), prompt="ferry"), chat("Hello!")])
def test_a_plain_prompt_and_a_question_about_nothing_stay_as_they_are(
    documents: Documents, submit: Submit
) -> None:
    prepared = documents.prepare(submit)
    assert prepared.sources == ()
    assert "leaves" not in prompt_of(prepared)


def test_a_changed_file_is_noticed(documents: Documents, corpus: Path) -> None:
    (corpus / "ferry.md").write_text("The ferry leaves at noon.")
    until = time.monotonic() + 10
    while "noon" not in prompt_of(documents.prepare(chat())):
        assert time.monotonic() < until
        time.sleep(0.02)


def test_documents_fill_at_most_half_of_the_context(tmp_path: Path) -> None:
    for number in range(9):
        (tmp_path / f"{number}.md").write_text("ferry " * 100)
    documents = Documents(tmp_path, LetterModel())
    prepared = documents.prepare(chat(tool_rag_top_k=9))
    documents.close()
    assert len(prepared.sources) == 3  # of 620 letters each, in a context of 4096
    assert len(prepared.prompt_ids) < LetterModel.max_context // 2 + 200


def test_the_result_names_the_sources(documents: Documents, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(router_harness, "prepare", lambda submit, _: documents.prepare(submit))
    router = RouterHarness()
    router.connect()
    router.client(chat())
    router.generate(1, "nine", finish=Finish("stop"))
    assert [source.source for source in router.result(1).sources] == ["ferry.md", "museum.md"]


def test_what_is_no_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationInvalid, match="nowhere"):
        Documents(tmp_path / "nowhere", LetterModel())
