"""Files of questions on the page: three rows, options, a run, the answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.browser.visit import Visit

QUESTIONS = ["What is the capital of France?", "What is 17 + 25?", "What is the capital of Italy?", "What is 2 + 2?"]


def give(visit: Visit, name: str, content: str | bytes) -> None:
    visit.tab.get_by_role("link", name="Batch").click()
    buffer = content if isinstance(content, bytes) else content.encode()
    files = [{"name": name, "mimeType": "text/plain", "buffer": buffer}]
    visit.tab.get_by_label("Drop a file").set_input_files(files)  # type: ignore[arg-type]


def run(visit: Visit, name: str) -> list[dict[str, object]]:
    """Run the file that is shown, and return the lines of its answers."""
    visit.tab.get_by_role("button", name="Run it").click()
    card = visit.tab.get_by_role("region", name=f"Batch {name}").first
    expect(card).to_contain_text("completed")
    with visit.tab.expect_download() as download:
        card.get_by_role("button", name="Download answers").click()
    return [json.loads(line) for line in Path(download.value.path()).read_text().splitlines()]


def test_a_file_of_text_is_answered(visit: Visit) -> None:
    give(visit, "questions.txt", "\n".join(QUESTIONS) + "\n\n")
    rows = visit.tab.get_by_role("region", name="The first rows").locator("tbody tr")
    assert rows.all_inner_texts() == [f"line-{number}\t{QUESTIONS[number - 1]}" for number in (1, 2, 3)]
    visit.tab.get_by_label("Temperature").fill("0")
    assert visit.violations() == []
    lines = run(visit, "questions.txt")
    texts = {line["custom_id"]: line["response"]["body"]["choices"][0]["message"]["content"] for line in lines}  # type: ignore[index]
    assert texts.keys() == {"line-1", "line-2", "line-3", "line-4"}
    assert texts["line-1"] == "The capital of France is Paris."
    card = visit.tab.get_by_role("region", name="Batch questions.txt").first
    expect(card).to_contain_text("4 of 4 answered")
    card.get_by_role("button", name="Show three").click()
    expect(card.get_by_role("region", name="Answers").locator("tbody tr")).to_have_count(3)
    assert visit.violations() == []
    visit.tab.reload()
    expect(visit.tab.get_by_role("region", name="Batch questions.txt").first).to_contain_text("completed")


def test_lines_of_json_keep_their_ids_and_conversations(visit: Visit) -> None:
    messages = [{"role": "user", "content": QUESTIONS[0]}]
    lines = [json.dumps({"id": "a", "messages": messages}), json.dumps({"custom_id": "b", "question": QUESTIONS[1]})]
    give(visit, "mixed.jsonl", "\n".join(lines))
    visit.tab.get_by_label("Temperature").fill("0")
    visit.tab.get_by_label("Max tokens").fill("3")
    answered = run(visit, "mixed.jsonl")
    bodies = {line["custom_id"]: line["response"]["body"] for line in answered}  # type: ignore[index]
    assert bodies.keys() == {"a", "b"}
    assert bodies["a"]["usage"]["completion_tokens"] <= 3  # type: ignore[index]


def test_a_table_asks_the_chosen_column(visit: Visit) -> None:
    rows = ['city,"ask, please",id', 'Paris,"What is the\r\ncapital of ""France""?",7', "", "Rome,What is 17 + 25?,8"]
    give(visit, "cities.csv", "\ufeff" + "\r\n".join(rows))
    shown = visit.tab.get_by_role("region", name="The first rows").locator("tbody tr td:nth-child(2)")
    assert shown.all_inner_texts() == ["Paris", "Rome"]
    visit.tab.get_by_label("Column with the questions").select_option("ask, please")
    expect(shown).to_have_text(['What is the capital of "France"?', "What is 17 + 25?"])  # of any white space
    assert visit.violations() == []
    visit.tab.get_by_label("Max tokens").fill("2")
    assert {line["custom_id"] for line in run(visit, "cities.csv")} == {"7", "8"}


def test_a_table_of_tabs_asks_the_column_of_that_name(visit: Visit) -> None:
    give(visit, "cities.TSV", 'size\tprompt\n3"\tWhat is 2 + 2?\n4\t"a\n\nb"\n')
    rows = visit.tab.get_by_role("region", name="The first rows").locator("tbody tr td")
    texts = [" ".join(text.split()) for text in rows.all_inner_texts()]
    assert texts == ["line-2", "What is 2 + 2?", "line-3", "a b"]


def test_batch_lines_run_as_they_are(visit: Visit) -> None:
    body = {"prompt": "a", "max_tokens": 2}
    line = {"custom_id": "x", "method": "POST", "url": "/v1/completions", "body": body}
    give(visit, "lines.jsonl", json.dumps(line))
    assert visit.tab.get_by_label("Temperature").count() == 0
    [answered] = run(visit, "lines.jsonl")
    assert answered["response"]["body"]["object"] == "text_completion"  # type: ignore[index]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("bad.jsonl", "", "The file is empty."),
        ("bad.jsonl", '{"no": "question"}', "A line needs"),
        ("bad.jsonl", '{"question": "a"}\n{broken', "Line 2 is not JSON"),
        ("bad.jsonl", '{"question": "a"}\n5', "Line 2 is no object"),
        ("bad.json", '[{"question": "a"}]', "This is one list"),
        ("bad.txt", "caf\xe9\n".encode("latin-1"), "not text in UTF-8"),
        ("bad.csv", "", "The file is empty."),
        ("bad.csv", "question\n", "The file has no rows."),
        ("bad.csv", "a,b,a\n1,2,3\n", "Two columns have the name a."),
        ("bad.csv", "question,id\na,1\nb\n", "Line 3 has 1 values for 2 columns."),
        ("bad.csv", 'question,id\n"a,1\n', "A quote in the row of line 2 is not closed."),
        ("bad.csv", "question,id\n,1\n", "Line 2 has no question."),
        ("bad.parquet", "PAR1", "cactus batch bad.parquet"),
    ],
)
def test_a_file_that_is_none_is_refused_before_anything_is_sent(
    visit: Visit, name: str, content: str | bytes, words: str
) -> None:
    give(visit, name, content)
    expect(visit.tab.get_by_role("alert").filter(has_text=name)).to_contain_text(words)
    assert visit.tab.get_by_role("button", name="Run it").count() == 0
    assert not [url for url in visit.requested if url.endswith("/v1/files")]


def test_a_fault_deep_in_a_file_sends_nothing(visit: Visit) -> None:
    lines = [json.dumps({"id": number, "question": "a"}) for number in (1, 2, 3, 2)]
    give(visit, "twice.jsonl", "\n".join(lines))
    visit.tab.get_by_role("button", name="Run it").click()
    expect(visit.tab.locator("[role=alert]:visible")).to_contain_text("Line 4 has the id of an earlier line: 2")
    assert not [url for url in visit.requested if url.endswith("/v1/files")]
