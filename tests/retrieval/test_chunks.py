"""Splitting documents into pieces."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.retrieval.document_chunks import MAX_CHARACTERS, OVERLAP_CHARACTERS, chunks_of


def texts(document: str) -> list[str]:
    return [chunk.text for chunk in chunks_of("a.md", document)]


def test_short_paragraphs_stay_together() -> None:
    assert texts("One.\n\nTwo.\n\n\n\nThree.") == ["One.\n\nTwo.\n\nThree."]


def test_a_heading_begins_a_chunk_that_names_the_headings_above_it() -> None:
    document = "Before.\n# Top\nIntro.\n## First\nA.\n## Second\n### Deep\nB.\n# Other\nC."
    assert texts(document) == [
        "Before.",
        "Top\n\nIntro.",
        "Top\nFirst\n\nA.",
        "Top\nSecond\nDeep\n\nB.",
        "Other\n\nC.",
    ]


def test_a_shell_comment_is_not_a_heading() -> None:
    assert texts("```sh\n# install\nmake\n```") == ["```sh\n# install\nmake\n```"]


def test_paragraphs_that_do_not_fit_begin_a_new_chunk() -> None:
    first, second = "a" * 500, "b" * 500
    assert texts(f"{first}\n\n{second}") == [first, second]


def test_a_long_paragraph_is_split_after_sentences_with_an_overlap() -> None:
    sentences = [f"Sentence number {number} says nothing of interest to anybody." for number in range(40)]
    pieces = texts(" ".join(sentences))
    assert len(pieces) > 2
    assert all(piece.endswith(".") for piece in pieces)
    for before, after in itertools.pairwise(pieces):
        begin = after[:40]
        assert begin in before[-OVERLAP_CHARACTERS - len(begin) :]
    assert all(any(sentence in piece for piece in pieces) for sentence in sentences)


@given(st.text(alphabet="ab .\n#`é猫", max_size=4000))
def test_no_word_is_lost_and_no_chunk_is_too_long(document: str) -> None:
    chunks = texts(document)
    whole = " ".join(chunks)
    for line in document.splitlines():
        for word in line.replace("#", " ").replace("`", " ").split():
            if len(word) < MAX_CHARACTERS // 4 and "#" not in line:
                assert word in whole
    assert all(len(chunk.rsplit("\n\n", 1)[-1]) <= MAX_CHARACTERS for chunk in chunks)
