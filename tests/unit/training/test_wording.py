"""Wordings of questions: the grammar, the frames that all kinds share, noise, and the words that noise must keep."""

from __future__ import annotations

from random import Random

import pytest

from training.corpus.cores import arithmetic, contrasts, counting, impossible
from training.corpus.cores.lexicon import LEXICON
from training.corpus.cores.relation import Relation
from training.corpus.cores.relations import FACT_KINDS, RELATIONS, fact_core, several_facts
from training.corpus.curriculum import CORES, rejected_another, several, training_samples
from training.corpus.hedges import is_hedge
from training.corpus.tables.numbers import in_words
from training.corpus.wording.combination import joined
from training.corpus.wording.contexts import in_context, in_manner, rejecting
from training.corpus.wording.grammar import Grammar, normalised, parse
from training.corpus.wording.message import Surround
from training.corpus.wording.noise import noisy
from training.corpus.wording.reserved import RESERVED
from training.corpus.wording.spelling import misspelt, typo

SEVEN = Random(7)


def test_brackets_nest_and_are_expanded_completely() -> None:
    grammar = Grammar.read("[Tell|[Please |]give] me {x}[, please|].\n* Say {x}.")
    drawn = {grammar.say(SEVEN) for _ in range(200)}
    assert "Please give me {x}, please." in drawn
    assert len(drawn) == 6
    assert grammar.say(SEVEN, held_out=True) == "Say {x}."


@pytest.mark.parametrize("text", ["[open", "closed]", "[a|[b]"])
def test_an_unmatched_bracket_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="bracket"):
        parse(text)


def test_reserved_wordings_are_not_drawn_for_training() -> None:
    grammar = Grammar.read("[Name|Say] {x}.", reserved={normalised("Name {x}!")})
    assert {grammar.say(SEVEN) for _ in range(50)} == {"Say {x}."}
    indirect = Grammar.read("[Name|Say] {x}. => {x}", reserved={normalised("Name {x}!")})
    assert {indirect.say(SEVEN) for _ in range(50)} == {"Say {x}. => {x}"}
    assert normalised("What city is the capital of {x}?") in RESERVED


@pytest.mark.parametrize("kind", CORES)
@pytest.mark.parametrize("held_out", [False, True])
def test_every_kind_fills_all_placeholders_of_its_questions(kind: str, held_out: bool) -> None:
    for _ in range(300):
        core = CORES[kind](SEVEN, held_out)
        assert core.text
        assert core.answer
        assert not set("{}[]|") & set(core.text)
        assert core.kind in (kind, "unknown")


@pytest.mark.parametrize("kind", FACT_KINDS)
def test_an_unknown_fact_is_answered_with_uncertainty(kind: str) -> None:
    cores = [fact_core(SEVEN, kind) for _ in range(300)]
    assert all((core.kind == "unknown") == is_hedge(core.answer) for core in cores)


@pytest.mark.parametrize("relation", RELATIONS, ids=lambda relation: relation.answer)
def test_the_answer_contains_the_value_of_the_table(relation: Relation) -> None:
    for x, y in relation.pairs.items():
        core = relation.core(SEVEN, x=x)
        assert y.lower() in core.answer.lower()


def test_each_fact_has_many_wordings() -> None:
    texts = {fact_core(SEVEN, "opposites").text for _ in range(2000)}
    assert len(texts) > 1800


def test_arithmetic_out_of_range_is_never_solved() -> None:
    for _ in range(500):
        core = arithmetic.beyond(SEVEN)
        assert core.kind == "unknown"
        assert is_hedge(core.answer)
        assert "=" not in core.answer


def test_terms_in_words_equal_those_of_the_answer() -> None:
    assert in_words(0) == "zero"
    assert in_words(85) == "eighty-five"
    assert in_words(1240) == "one thousand two hundred forty"


def test_noise_does_not_change_literal_texts() -> None:
    for _ in range(300):
        text = noisy("Please write this: Oslo quarkel", SEVEN, 1.0, ("Oslo", "quarkel"), LEXICON, keeps_letters=True)
        assert text.endswith(": Oslo quarkel")


def test_noise_does_not_turn_a_known_word_into_another() -> None:
    known = frozenset({"march", "larch"})
    for _ in range(300):
        text = noisy("What comes after march?", SEVEN, 1.0, ("march",), known)
        assert "larch" not in text.lower()


def test_without_strength_there_is_no_noise() -> None:
    assert all(noisy("What is hot?", SEVEN, 0.0) == "What is hot?" for _ in range(50))


def test_a_typo_changes_at_most_two_places() -> None:
    for _ in range(200):
        assert abs(len(typo("capital", SEVEN)) - 7) <= 1


def test_several_questions_are_answered_in_their_order() -> None:
    text = joined(["What is 1 + 1?", "What is 2 + 2?"], SEVEN)
    assert text.index("1 + 1") < text.index("2 + 2")
    for _ in range(100):
        sample = several(SEVEN, 1.0)
        assert len(sample.wanted.split()) > 4


def test_known_and_unknown_things_have_the_same_sentence_frames() -> None:
    """The frame alone does not show whether there is an answer."""
    texts: dict[bool, set[str]] = {True: set(), False: set()}
    for sample, _ in zip(training_samples(2, 0, 0.0), range(6000), strict=False):
        words = str(sample.prompt[-1]["content"]).split()
        texts[is_hedge(sample.wanted)].add(" ".join(words[:3]).lower())
    assert len(texts[True] & texts[False]) > 100


@pytest.mark.parametrize("surround", [in_context, in_manner])
@pytest.mark.parametrize("held_out", [False, True])
def test_talk_around_a_question_keeps_it_and_fills_its_placeholders(surround: Surround, held_out: bool) -> None:
    for _ in range(300):
        text = surround("Zzz is 2 + 2?", SEVEN, held_out, False)
        assert "Zzz is 2 + 2?" in text
        assert not set("{}[]|") & set(text)
        assert surround("Zzz: a", SEVEN, held_out, True).endswith("Zzz: a")


def test_a_rejected_question_changes_no_answer() -> None:
    for kind in CORES:
        for _ in range(60):
            core = CORES[kind](SEVEN, False)
            other = rejected_another(core, SEVEN)
            assert other.answer == core.answer
            assert not set("{}[]|") & set(other.text)
    for _ in range(100):
        assert rejecting("Repeat: a b", "Who?", SEVEN, only_before=True).endswith("epeat: a b")


@pytest.mark.parametrize("held_out", [False, True])
def test_the_answer_of_a_contrast_is_about_what_is_asked_for(held_out: bool) -> None:
    relation = next(relation for relation in RELATIONS if relation.kind == "capitals")
    for _ in range(200):
        core = contrasts.contrast(SEVEN, relation, (relation,), held_out)
        assert core.answer in map(relation.say, relation.pairs)
        assert not set("{}[]|") & set(core.text)


def test_a_mention_names_the_thing_that_the_pronoun_means() -> None:
    for kind in ("capitals", "elements", "opposites", "general knowledge"):
        core = contrasts.mention(SEVEN, kind)
        assert core is not None
        assert " ".join(core.entities).lower() in core.text.lower()


def test_shortened_questions_are_answered_one_by_one() -> None:
    for _ in range(300):
        core = several_facts(SEVEN)
        assert core.answer.count(".") >= 2
        assert not set("{}[]|") & set(core.text)


def test_misspelt_words_stay_short_and_differ_mostly() -> None:
    spelt = [misspelt("capital", SEVEN) for _ in range(200)]
    assert all(3 <= len(word) <= 9 for word in spelt)
    assert sum(word != "capital" for word in spelt) > 150


@pytest.mark.parametrize("held_out", [False, True])
def test_a_count_is_that_of_the_things_in_the_message(held_out: bool) -> None:
    for _ in range(300):
        core = counting.counting(SEVEN, held_out)
        number, counted = core.answer.rstrip(".").split()[2:4]
        assert all(name.lower() in core.text.lower() for name in core.entities)
        if counted in ("letter", "letters"):
            assert int(number) == len(core.entities[0])
        elif counted in ("word", "words", "thing", "things"):
            assert int(number) == len(core.entities)
        else:
            assert 1 <= int(number) <= len(core.entities)


@pytest.mark.parametrize("held_out", [False, True])
def test_questions_without_a_true_answer_are_hedged(held_out: bool) -> None:
    for make in (impossible.nonsense, impossible.future):
        for _ in range(150):
            core = make(SEVEN, held_out)
            assert is_hedge(core.answer)
            assert not set("{}[]|") & set(core.text)
