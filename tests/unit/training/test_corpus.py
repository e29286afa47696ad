"""The corpus of the embedded model: reproducible, and evaluated with questions that are not in the training set."""

from __future__ import annotations

from functools import cache
from itertools import islice
from random import Random

from training.corpus.composed_calls import composed_call
from training.corpus.curriculum import (
    REWORDED_KINDS,
    long_training_samples,
    reworded_evaluation_samples,
    training_samples,
)
from training.corpus.instructions import NUMBER_WORDS
from training.corpus.registry import EVALUATED_KINDS, evaluation_samples
from training.corpus.sample import Sample
from training.corpus.tools import parsed_call
from training.corpus.wording.grammar import normalised


def questions_of(sample: Sample) -> set[str]:
    return {normalised(str(message["content"])) for message in sample.messages if message["role"] == "user"}


@cache
def many_training_samples() -> list[Sample]:
    return list(islice(training_samples(1, 0, 0.9), 10_000))


def trained_questions() -> set[str]:
    trained: set[str] = set()
    for sample in many_training_samples():
        trained |= questions_of(sample)
    for sample in islice(long_training_samples(1, 0, 0.9), 300):
        trained |= questions_of(sample)
    return trained


def test_equal_seeds_give_equal_samples_and_others_do_not() -> None:
    first, again, other = (list(islice(training_samples(seed, 3, 0.5), 200)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_no_evaluation_question_is_in_the_training_corpus() -> None:
    trained = trained_questions()
    asked = [
        normalised(sample.prompt[-1]["content"])
        for sample in (*evaluation_samples(7, 40), *reworded_evaluation_samples(7, 40))
        if sample.prompt[-1]["role"] == "user"
    ]
    assert [question for question in asked if question in trained] == []


def test_the_evaluation_set_has_every_kind_equally_and_ends_with_answers() -> None:
    for samples, kinds in (
        (evaluation_samples(3, 5), EVALUATED_KINDS),
        (reworded_evaluation_samples(3, 5), REWORDED_KINDS),
    ):
        assert [sample.kind for sample in samples] == [kind for kind in kinds for _ in range(5)]
        assert all(sample.messages[-1]["role"] == "assistant" for sample in samples)
        assert all(sample.prompt[-1]["role"] in ("user", "tool") for sample in samples)


def test_evaluation_sums_use_term_pairs_that_are_not_in_the_training_corpus() -> None:
    def pairs(samples: list[Sample]) -> set[str]:
        return {sample.wanted.split(" = ")[0] for sample in samples if sample.kind == "sums"}

    trained = pairs(many_training_samples())
    for evaluated in (pairs(evaluation_samples(7, 100)), pairs(reworded_evaluation_samples(7, 100))):
        assert len(evaluated) > 50
        assert not trained & evaluated
    assert len(trained) > 300


def test_composed_calls_give_all_required_arguments_and_only_values_that_the_request_has() -> None:
    rng = Random(5)
    num_optional = 0
    for sample in (composed_call(rng) for _ in range(400)):
        call = parsed_call(sample.wanted)
        assert call is not None
        name, arguments = call
        schema = next(tool["function"] for tool in sample.tools if tool["function"]["name"] == name)["parameters"]
        assert set(schema["required"]) <= set(arguments) <= set(schema["properties"])
        num_optional += len(arguments) - len(schema["required"])
        request = str(sample.prompt[-1]["content"])
        for value in arguments.values():
            in_words = NUMBER_WORDS[value] if isinstance(value, int) and value < len(NUMBER_WORDS) else ""
            said = str(value)
            assert said in request or said[:1].upper() + said[1:] in request or (in_words and in_words in request)
    assert num_optional > 40
