"""Token masks: texts drawn from them obey the grammar, and masks do not depend on how they are computed."""

from __future__ import annotations

import gc
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import cactus_actors.models
from cactus_actors.protocol.errors import InvalidRequest, ModelFailure, SchemaTooComplex
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch, SequenceDelta
from cactus_actors.structured import ROOTS, compile_request, try_grammar
from cactus_actors.structured.compiled import param_of
from cactus_actors.structured.matcher import MAX_TEMPLATES, GrammarMatcher, Matchers
from cactus_actors.structured.vocabulary import grammar_vocabulary
from cactus_actors.text.text_model import TextModel, load_text_model
from tests.support.router.scripted_router import until
from tests.support.text.grammar_texts import Writer, allowed

SPROUT = Path(cactus_actors.models.__file__).parent / "cactus-sprout"

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 8},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "mood": {"enum": ["good", "bad"]},
    },
    "required": ["name", "mood"],
    "additionalProperties": False,
}
SCHEMAS: list[Any] = [
    PERSON,
    {
        "type": "array",
        "items": {"type": "number", "minimum": -1.5, "maximum": 20},
        "minItems": 1,
        "maxItems": 3,
    },
    {"anyOf": [{"type": "boolean"}, {"type": "string", "pattern": "^[a-f]{2,4}$"}, {"const": {"a": [1]}}]},
    {
        "type": "object",
        "properties": {"next": {"$ref": "#"}, "value": {"type": "string", "pattern": "^[0-9]{2}$"}},
        "required": ["value"],
        "additionalProperties": False,
    },
]


@pytest.fixture(scope="module")
def text_model() -> TextModel:
    return load_text_model(SPROUT)


@pytest.fixture(scope="module")
def matchers(text_model: TextModel) -> Matchers:
    return Matchers(text_model.tokenizer, text_model.eos_ids)


def grammar_of(text_model: TextModel, **options: Any) -> str:
    return compile_request(Options(**options), text_model.tokenizer)


def writings(matchers: Matchers, text_model: TextModel, grammar: str, number: int) -> Iterator[tuple[str, bool]]:
    writer = Writer(text_model.tokenizer, text_model.eos_ids)
    for _ in range(number):
        yield writer.write(matchers(grammar))


@pytest.mark.parametrize("schema", SCHEMAS, ids=["object", "array", "choice", "recursion"])
def test_random_tokens_match_schemas(schema: Any, matchers: Matchers, text_model: TextModel) -> None:
    validator = jsonschema.Draft202012Validator(schema)
    num_complete = 0
    for text, is_complete in writings(matchers, text_model, grammar_of(text_model, json_schema=schema), 250):
        if is_complete:
            validator.validate(json.loads(text))
            num_complete += 1
    assert num_complete > 150


def is_call(text: str) -> bool:
    found = re.fullmatch(r"```json\n(.*)\n```", text, re.DOTALL)
    return found is not None and is_function(found[1])


def is_function(text: str) -> bool:
    value = json.loads(text)
    return (
        list(value) == ["name", "arguments"] and isinstance(value["name"], str) and isinstance(value["arguments"], dict)
    )


def has_no_call(text: str) -> bool:
    return not any(mark in text for mark in ("```json", "```tool_call"))


def is_json(*kinds: type) -> Callable[[str], bool]:
    return lambda text: text == text.strip() and isinstance(json.loads(text), kinds)


RECOGNISERS: dict[str, Callable[[str], bool]] = {
    "root": lambda text: has_no_call(text) or is_call(text),
    "fcall": is_call,
    "nofcall": has_no_call,
    "insidevalue": lambda text: isinstance(json.loads(f'"{text}"'), str),
    "value": is_json(object),
    "object": is_json(dict),
    "array": is_json(list),
    "string": is_json(str),
    "number": lambda text: re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?", text) is not None,
    "funcarray": lambda text: bool(json.loads(text)) and all(is_function(json.dumps(one)) for one in json.loads(text)),
    "func": is_function,
    "ws": lambda text: set(text) <= set(" \t\n\r") and len(text) <= 32,
}


@pytest.mark.parametrize("root", ROOTS)
def test_random_tokens_match_named_languages(root: str, matchers: Matchers, text_model: TextModel) -> None:
    num_complete = 0
    for text, is_complete in writings(matchers, text_model, grammar_of(text_model, grammar_root=root), 100):
        if is_complete:
            assert RECOGNISERS[root](text), text
            num_complete += 1
    assert num_complete > 30


def test_masks_are_the_same_in_advance_on_demand_and_in_a_replay(matchers: Matchers, text_model: TextModel) -> None:
    grammar = grammar_of(text_model, json_schema=PERSON)
    token_ids = text_model.tokenizer.encode('{"name":"Ada","age":36', add_special=False)
    asked, replayed = matchers(grammar), matchers(grammar)
    masks = [asked.bitmask().copy()]
    for token_id in token_ids:
        asked.accept(token_id)
        time.sleep(0.002)  # the helper's turn
        masks.append(asked.bitmask().copy())
        replayed.accept(token_id)
    assert np.array_equal(replayed.bitmask(), masks[-1])
    for token_id, mask in zip(token_ids, masks, strict=False):
        assert mask[token_id // 32] >> (token_id % 32) & 1
    assert not any(asked.bitmask()[one // 32] >> (one % 32) & 1 for one in text_model.eos_ids)


def test_the_helper_thread_computes_masks_in_advance(matchers: Matchers, text_model: TextModel) -> None:
    matcher = matchers(grammar_of(text_model, regex="[a-z]+"))
    until(lambda: matcher._is_masked)


def test_end_tokens_are_allowed_where_the_text_may_end(matchers: Matchers, text_model: TextModel) -> None:
    matcher = matchers(grammar_of(text_model, regex="ab?"))
    assert not text_model.eos_ids & set(allowed(matcher).tolist())
    (a,) = text_model.tokenizer.encode("a", add_special=False)
    matcher.accept(a)
    assert text_model.eos_ids < set(allowed(matcher).tolist())
    assert not matcher.is_finished
    (b,) = text_model.tokenizer.encode("b", add_special=False)
    matcher.accept(b)
    assert matcher.is_finished


def test_a_forbidden_token_fails_only_its_own_sequence(matchers: Matchers, text_model: TextModel) -> None:
    grammar = grammar_of(text_model, regex="a+")
    (b,) = text_model.tokenizer.encode("b", add_special=False)
    broken, sound = matchers(grammar), matchers(grammar)
    assert broken.bitmask().any()
    with pytest.raises(ModelFailure):
        broken.accept(b)
    with pytest.raises(ModelFailure):
        broken.bitmask()
    assert sound.bitmask().any()


def test_an_uncompilable_grammar_is_an_invalid_request(matchers: Matchers) -> None:
    matcher = matchers('{"grammars":[{"lark_grammar":"start: <[999999]>"}]}')
    with pytest.raises(InvalidRequest):
        matcher.bitmask()


def test_control_tokens_are_allowed_only_if_the_grammar_names_them(matchers: Matchers, text_model: TextModel) -> None:
    start = text_model.tokenizer.id_of("<|im_start|>")
    anything = set(allowed(matchers(grammar_of(text_model, regex="(?s:.*)"))).tolist())
    assert start not in anything
    named = matchers(grammar_of(text_model, grammar='root ::= <|im_start|> "a"'))
    assert set(allowed(named).tolist()) == {start}


def test_a_negated_token_does_not_allow_the_end_token(matchers: Matchers, text_model: TextModel) -> None:
    start = text_model.tokenizer.id_of("<|im_start|>")
    matcher = matchers(grammar_of(text_model, grammar="root ::= !<|im_start|>* <|im_start|>"))
    legal = set(allowed(matcher).tolist())
    assert start in legal
    assert not legal & text_model.eos_ids
    assert len(legal) > 1000


def test_the_number_of_cached_grammars_is_bounded(text_model: TextModel) -> None:
    matchers = Matchers(text_model.tokenizer, text_model.eos_ids)
    grammars = [grammar_of(text_model, json_schema={"const": index}) for index in range(MAX_TEMPLATES + 5)]
    for grammar in grammars:
        matchers(grammar).bitmask()
    assert len(matchers.templates) == MAX_TEMPLATES
    assert matchers.templates.num_bytes == sum(map(len, grammars[5:]))


def test_the_helper_thread_ends_with_its_matchers(text_model: TextModel) -> None:
    others = set(threading.enumerate())
    matchers = Matchers(text_model.tokenizer, text_model.eos_ids)
    matchers(grammar_of(text_model, regex="a")).bitmask()
    [helper] = (it for it in set(threading.enumerate()) - others if it.name == "grammar-masks")
    del matchers
    gc.collect()
    helper.join(60)
    assert not helper.is_alive()
    assert threading.active_count() >= 1


class SpacedTokenizer:
    """A tokenizer that puts a space in front of every text, as SentencePiece does."""

    texts = (b"", b" ", b"a", b"b", b"ab", b" ab", b"\xc3", b"\xa9")
    vocab_size = len(texts)

    def encode(self, text: str, *, add_special: bool, parse_special: bool = True) -> list[int]:
        spaced, ids = f" {text}".encode(), []
        while spaced:
            token_id = max(
                (one for one in range(1, self.vocab_size) if spaced.startswith(self.texts[one])),
                key=lambda one: len(self.texts[one]),
            )
            ids.append(token_id)
            spaced = spaced[len(self.texts[token_id]) :]
        return ids

    def token_bytes(self, token_id: int) -> bytes:
        return self.texts[token_id]

    def is_special(self, token_id: int) -> bool:
        return token_id == 0


def test_forced_text_is_tokenised_without_an_added_space() -> None:
    vocabulary = grammar_vocabulary(SpacedTokenizer(), {0})
    assert vocabulary.tokenize_str("abé") == [4, 6, 7]
    matcher = Matchers(SpacedTokenizer(), {0})('{"grammars":[{"lark_grammar":"start: \\"ab\\""}]}')
    assert 4 in allowed(matcher).tolist()
    assert 5 not in allowed(matcher).tolist()


# in the engine


def run(grammars: Sequence[str], text: TextModel, **params: Any) -> list[tuple[str, SequenceDelta]]:
    """The text and last delta of one sequence per grammar, all run together by the embedded model."""
    from cactus_actors.workers.engine.engine import Engine
    from cactus_actors.workers.engine.options import EngineLimits, TextOptions
    from cactus_actors.workers.loading.load_model import load_model

    model = load_model(SPROUT, weights="float32", threads=1)
    engine = Engine(
        model,
        TextOptions(text.tokenizer, text.eos_ids, new_constraint=Matchers(text.tokenizer, text.eos_ids)),
        EngineLimits(cache_blocks=256),
    )
    prompt = text.tokenizer.encode("Tell me about Ada.", add_special=True)
    for number, grammar in enumerate(grammars):
        sampling = SamplingParams(**{"max_tokens": 80, "temperature": 1.0, "seed": number, **params})
        engine.add(Dispatch(number, "0" * 32, prompt, [], sampling, grammar=grammar))
    texts, last = [""] * len(grammars), {}
    while engine.has_work:
        for delta in engine.step():
            texts[delta.dispatch_id] += delta.text
            last[delta.dispatch_id] = delta
    model.close()
    return [(texts[number], last[number]) for number in range(len(grammars))]


def test_the_engine_generates_text_that_matches_the_grammar(text_model: TextModel) -> None:
    forms: list[dict[str, Any]] = [
        {"json_schema": PERSON},
        {"regex": "(yes|no)!"},
        {"grammar": 'root ::= "- " [a-z ]{3,9} ("\\n- " [a-z ]{3,9}){2}'},
        {"grammar_root": "number"},
    ]
    grammars = [grammar_of(text_model, **form) for form in forms]
    for temperature in (0.0, 1.0):
        outcomes = run(["", *grammars, ""], text_model, temperature=temperature)
        (person, _), (answer, end), (lines, _), (number, _) = outcomes[1:-1]
        jsonschema.validate(json.loads(person), PERSON)
        assert answer in ("yes!", "no!")
        assert end.finish is not None
        assert end.finish.reason == "stop"
        assert re.fullmatch(r"- [a-z ]{3,9}\n- [a-z ]{3,9}\n- [a-z ]{3,9}", lines)
        float(number)


def test_constrained_text_beyond_max_tokens_ends_by_length(text_model: TextModel) -> None:
    grammar = grammar_of(text_model, json_schema={"const": "a long text that is forced, word by word, to its end"})
    ((text, last),) = run([grammar], text_model, max_tokens=4)
    assert last.finish is not None
    assert last.finish.reason == "length"
    assert text.startswith('"a')
    assert not text.endswith('end"')


def test_other_sequences_do_not_change_constrained_text(text_model: TextModel) -> None:
    grammar = grammar_of(text_model, json_schema=PERSON)
    alone = run([grammar], text_model)[0][0]
    assert run([grammar, "", grammar_of(text_model, regex="a+")], text_model)[0][0] == alone


HARD = "(x?){2000}x{2000}"
"""Compiles at once, and needs more states after some letters than a worker may hold."""
NUM_LETTERS = 20


def test_a_too_expensive_grammar_is_refused_before_the_job_is_accepted(text_model: TextModel) -> None:
    for _ in range(3):
        with pytest.raises(SchemaTooComplex, match="more work") as caught:
            try_grammar(grammar_of(text_model, regex=HARD), text_model.tokenizer)
        assert caught.value.param == "regex"


@pytest.mark.parametrize("pattern", ["[0-9]{4}", "(a|b)*a(a|b){14}", ".{1,9000}", "x?", ""])
def test_a_large_grammar_of_bounded_cost_is_accepted(text_model: TextModel, pattern: str) -> None:
    try_grammar(grammar_of(text_model, regex=pattern), text_model.tokenizer)


def write_letters(matcher: GrammarMatcher) -> None:
    for _ in range(NUM_LETTERS):
        matcher.accept(int(allowed(matcher)[0]))


def test_exceeded_limits_are_an_error_of_the_request(text_model: TextModel) -> None:
    """A worker that exceeds its limits names the field, in the terms of the request."""
    matcher = Matchers(text_model.tokenizer, text_model.eos_ids)(grammar_of(text_model, regex=HARD))
    with pytest.raises(SchemaTooComplex, match="more work") as caught:
        write_letters(matcher)
    assert (caught.value.param, caught.value.status) == ("regex", 400)


def test_a_text_that_exceeds_the_limits_does_not_fail_other_texts_of_its_grammar(text_model: TextModel) -> None:
    grammar = grammar_of(text_model, regex=f"{HARD}|hello")
    token_ids, letter = (text_model.tokenizer.encode(text, add_special=False) for text in ("hello", "x"))
    untouched, matchers = (Matchers(text_model.tokenizer, text_model.eos_ids) for _ in range(2))

    def masks(matcher: GrammarMatcher, token_ids: Sequence[int]) -> list[bytes]:
        masks = [matcher.bitmask().tobytes()]
        for token_id in token_ids:
            matcher.accept(token_id)
            masks += [] if matcher.is_finished else [matcher.bitmask().tobytes()]
        return masks

    expected = masks(untouched(grammar), token_ids)
    early, hard = matchers(grammar), matchers(grammar)
    begun = masks(early, token_ids[:1])
    with pytest.raises(SchemaTooComplex):
        masks(hard, letter * NUM_LETTERS)
    assert not hard.is_finished
    assert begun + masks(early, token_ids[1:])[1:] == expected
    assert masks(matchers(grammar), token_ids) == expected


@pytest.mark.parametrize(
    ("options", "param"),
    [
        ({"json_schema": {"type": "integer"}}, "json_schema"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"regex": "a"}, "regex"),
        ({"grammar": 'root ::= "a"'}, "grammar"),
        ({"grammar_root": ROOTS[0]}, "grammar_root"),
    ],
)
def test_errors_of_a_grammar_name_its_field(text_model: TextModel, options: dict[str, Any], param: str) -> None:
    assert param_of(compile_request(Options(**options), text_model.tokenizer)) == param
