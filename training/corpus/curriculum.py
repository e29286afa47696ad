"""The training set: every kind in the wordings of its grammar, and the share of each at every stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from random import Random

from training.corpus import longchats, tools
from training.corpus.composed_calls import composed_call, composed_result
from training.corpus.cores import arithmetic, counting, followups, instructions, rhymes, talk
from training.corpus.cores.core import Core
from training.corpus.cores.relations import FACT_KINDS, fact_core, several_facts
from training.corpus.cores.stories import story
from training.corpus.cores.thread import KIND as FOLLOW_UPS
from training.corpus.cores.unknown import KIND as UNKNOWN
from training.corpus.cores.unknown import unknown
from training.corpus.cores.whole_lists import whole_list
from training.corpus.sample import Sample, assistant, exchange, user
from training.corpus.wording.combination import joined
from training.corpus.wording.contexts import in_context, rejecting
from training.corpus.wording.grammar import normalised
from training.corpus.wording.message import message
from training.corpus.wording.noise import noisy
from training.corpus.wording.reserved import RESERVED
from training.corpus.words import any_word
from training.handwritten.exclusion import Exclusion
from training.handwritten.test_set import load_test_set

MakeCore = Callable[[Random, bool], Core]
SEVERAL = "several questions"
TEST_SET = Exclusion(question.question for question in load_test_set())
MAX_DRAWS = 1000
# Counting what stands in the message, the number of one thing that it counts, and counting up.
_COUNTING_WEIGHTS = (60, 20, 20)
_WHOLE_LIST_RATE = 0.2


def _fact_maker(kind: str) -> MakeCore:
    return lambda rng, held_out: fact_core(rng, kind, held_out)


def _count(rng: Random, held_out: bool) -> Core:
    """Counting up, or counting what the message names."""
    makers = (counting.counting, counting.amounts, instructions.count)
    make = rng.choices(makers, _COUNTING_WEIGHTS)[0]
    return make(rng, held_out)


def _list(rng: Random, held_out: bool) -> Core:
    """Some members of a kind, or all of them."""
    return (whole_list if rng.random() < _WHOLE_LIST_RATE else instructions.lists)(rng, held_out)


CORES: Mapping[str, MakeCore] = {
    "small talk": talk.talk_core,
    **{kind: _fact_maker(kind) for kind in FACT_KINDS},
    **arithmetic.MAKERS,
    "list": _list,
    "repeat": instructions.repeat,
    "count": _count,
    "rhyme": rhymes.rhyme,
    "uppercase": instructions.uppercase,
    "stories": story,
    UNKNOWN: unknown,
}
# Questions that may stand beside others in one message: their answers are sentences.
_COMBINED = (*FACT_KINDS, *FACT_KINDS, *arithmetic.MAKERS, *arithmetic.MAKERS, "rhyme")
_SHORTENED_RATE = 0.45
_TOOL_CONTEXT_RATE = 0.15
# The share of calls, and of results, that are composed of several arguments or fields, once the noise is full.
_COMPOSED_RATE = 0.55
# How often a question stands beside another one that is rejected, and of what kind the other is.
_REJECTION_RATE = 0.06
_REJECTING = (*FACT_KINDS, *arithmetic.MAKERS, "list", "rhyme", "count", "repeat", "uppercase")
_UNKNOWN_AMONG_SEVERAL = 0.06
SYSTEM_MESSAGES = tuple(
    {"role": "system", "content": content}
    for content in (
        "You are a helpful assistant.",
        "You are Cactus Sprout, a small language model.",
        "Answer briefly.",
        "Be kind and brief.",
        "You are a helpful assistant. Answer in one sentence.",
        "Help the user.",
    )
)


def shares(progress: float) -> dict[str, float]:
    """The share of each kind when this share (0 to 1) of the training is done."""
    return {
        "small talk": 0.04,
        "capitals": 0.065,
        "continents": 0.025,
        "colours": 0.022,
        "animals": 0.055,
        "elements": 0.035,
        "opposites": 0.045,
        "plurals": 0.012,
        "days and months": 0.035,
        "units": 0.03,
        "general knowledge": 0.055,
        "sums": 0.065,
        "differences": 0.055,
        "products": 0.035,
        "comparisons": 0.012,
        "list": 0.03,
        "repeat": 0.06,
        "count": 0.06,
        "rhyme": 0.04,
        "uppercase": 0.028,
        "stories": 0.025,
        UNKNOWN: 0.13,
        SEVERAL: 0.17,
        FOLLOW_UPS: 0.105,
        "tool calls": 0.21,
        "tool results": 0.025,
        "no tool needed": 0.015,
        "drill": max(0.0, 0.3 - 3 * progress),
    }


def difficulty(progress: float) -> float:
    """The difficulty of tool calls: it rises from one tool and one field to several after a third of the run."""
    return min(1.0, 0.05 + 3 * progress)


def strength(progress: float) -> float:
    """The rate of frames and noise: it is 1 after a sixth of the run."""
    return min(1.0, 0.3 + 4.2 * progress)


def worded(make: MakeCore, rng: Random, strength: float, held_out: bool = False) -> Sample:
    """A sample of one question. If held_out, its core, its frame, or both are never trained on."""
    is_new_core, is_new_frame = held_out, False
    if held_out:
        is_new_core, is_new_frame = rng.choice(((True, False), (False, True), (True, True)))
    core = make(rng, is_new_core)
    if not held_out and rng.random() < _REJECTION_RATE * strength:
        core = rejected_another(core, rng)
    if held_out and core.kind == "sums" and not is_new_core:
        # Terms of sums are held out too, so only such sums are evaluated.
        core, is_new_frame = make(rng, True), True
    return exchange(core.kind, message(core, rng, strength, is_new_frame), core.answer)


def rejected_another(core: Core, rng: Random) -> Core:
    """The core beside a question that is not to be answered, so that the answer stays; small talk stays alone."""
    if core.kind not in _REJECTING and core.kind != UNKNOWN:
        return core
    other = CORES[core.kind if core.kind in _COMBINED and rng.random() < 0.5 else rng.choice(_COMBINED)](rng, False)
    return replace(core, text=rejecting(core.text, other.text, rng, only_before=core.is_literal))


def several(rng: Random, strength: float, held_out: bool = False) -> Sample:
    """Two or three questions in one message, all answered in their order."""
    new = rng.choice(("joint", "core")) if held_out else ""
    if not new and rng.random() < _SHORTENED_RATE:
        shortened = replace(several_facts(rng), kind=SEVERAL)
        return exchange(SEVERAL, message(shortened, rng, strength), shortened.answer)
    cores = [_combined(rng, held_out, new == "core" and place == 0) for place in range(rng.choice((2, 2, 2, 3)))]
    texts = [noisy(core.text, rng, 0.3 * strength, core.entities, (), core.is_literal) for core in cores]
    core = Core(
        SEVERAL,
        joined(texts, rng, new == "joint"),
        " ".join(core.answer for core in cores),
        tuple(name for core in cores for name in core.entities),
    )
    return exchange(SEVERAL, message(core, rng, 0.6 * strength), core.answer)


def _combined(rng: Random, held_out: bool, is_new: bool) -> Core:
    if not held_out and rng.random() < _UNKNOWN_AMONG_SEVERAL:
        return unknown(rng)
    while True:
        core = CORES[rng.choice(_COMBINED)](rng, is_new)
        if not core.is_literal and (core.kind != UNKNOWN or not held_out):
            return core


def followup(rng: Random, strength: float, held_out: bool = False) -> Sample:
    thread = followups.thread(rng, held_out)
    turns = [
        turn for core in thread.earlier for turn in (user(message(core, rng, 0.7 * strength)), assistant(core.answer))
    ]
    last = thread.last
    text = noisy(last.text, rng, strength, last.entities)
    return Sample(last.kind, (*turns, user(text), assistant(last.answer)))


def _tool_call(rng: Random, difficulty: float, strength: float) -> Sample:
    """A tool call whose request is typed with mistakes now and then, never in the values."""
    is_composed = rng.random() < _COMPOSED_RATE * strength
    sample = composed_call(rng, difficulty) if is_composed else tools.tool_call(rng, False, difficulty)
    call = tools.parsed_call(sample.wanted)
    assert call is not None
    values = [str(value) for value in call[1].values()]
    request = noisy(str(sample.messages[0]["content"]), rng, 0.6 * strength, values, keeps_letters=True)
    if rng.random() < 0.2 * strength and not any(request.startswith(value) for value in values):
        request = request[:1].lower() + request[1:]
    if request.endswith((".", "?")) and rng.random() < 0.2 * strength:
        request = request[:-1]
    if rng.random() < _TOOL_CONTEXT_RATE * strength:
        request = in_context(request, rng, only_before=True)
    return replace(sample, messages=(user(request), *sample.messages[1:]))


def sample_of(kind: str, rng: Random, progress: float, exclusion: Exclusion = TEST_SET) -> Sample:
    """One training sample of the kind; one that asks an excluded or a reserved question is drawn again."""
    for _ in range(MAX_DRAWS):
        sample = _drawn(kind, rng, progress)
        if not (exclusion.excludes(sample.messages) or _is_reserved(sample)):
            return sample
    raise RuntimeError(f"{kind}: {MAX_DRAWS} samples in a row ask questions of the test set")


def _is_reserved(sample: Sample) -> bool:
    """True for a wording of the held-out templates, which noise may make of another one."""
    asked = (message["content"] for message in sample.messages if message["role"] == "user")
    return any(normalised(str(text)) in RESERVED for text in asked)


def _drawn(kind: str, rng: Random, progress: float) -> Sample:
    noise = strength(progress)
    hardest = rng.uniform(0.0, difficulty(progress))
    match kind:
        case "tool calls":
            return _tool_call(rng, hardest, noise)
        case "tool results":
            is_composed = rng.random() < _COMPOSED_RATE * noise
            return composed_result(rng) if is_composed else tools.tool_result(rng, False)
        case "no tool needed":
            other = worded(CORES[rng.choice(("small talk", *FACT_KINDS))], rng, noise)
            return tools.no_tool(rng, False, other)
        case "several questions":
            return several(rng, noise)
        case "follow-ups":
            return followup(rng, noise)
        case "drill":
            words = " ".join(any_word(rng) for _ in range(rng.randint(2, 10)))
            return exchange("drill", words, words)
    return worded(CORES[kind], rng, noise)


def training_samples(seed: int, shard: int, progress: float) -> Iterator[Sample]:
    """Endless samples of one stage; equal arguments give equal samples."""
    rng = Random(f"{seed}/{shard}")
    kinds, weights = zip(*shares(progress).items(), strict=True)
    while True:
        sample = sample_of(rng.choices(kinds, weights)[0], rng, progress)
        if rng.random() < 0.06 and sample.messages[0]["role"] == "user":
            sample = replace(sample, messages=(rng.choice(SYSTEM_MESSAGES), *sample.messages))
        # Now and then unrelated conversations follow one another, as in a long chat.
        while not sample.tools and rng.random() < 0.12:
            other = sample_of(rng.choices(kinds, weights)[0], rng, progress)
            if not other.tools:
                sample = Sample("long chat", (*sample.messages, *other.messages))
        yield sample


def long_training_samples(seed: int, shard: int, progress: float) -> Iterator[Sample]:
    """Endless long conversations, for the shards of long rows."""
    rng = Random(f"long/{seed}/{shard}")
    kinds, weights = zip(*shares(1.0).items(), strict=True)

    def draw(held_out: bool) -> Sample:  # noqa: ARG001 - nothing is held out of training
        return sample_of(rng.choices(kinds, weights)[0], rng, progress)

    while True:
        yield longchats.long_chat(rng, False, draw)


REWORDED_KINDS = (*(kind for kind in CORES if kind != "stories"), SEVERAL, FOLLOW_UPS)


def reworded_evaluation_samples(seed: int, per_kind: int) -> list[Sample]:
    """Questions in frames that the grammars hold out, with typing noise; the same number of each kind.

    Questions about things that a kind's tables lack belong to the kind of unknown ones.
    """
    samples: list[Sample] = []
    for kind in REWORDED_KINDS:
        rng = Random(f"reworded/{seed}/{kind}")
        while sum(sample.kind == kind for sample in samples) < per_kind:
            if kind == SEVERAL:
                sample = several(rng, 0.5, held_out=True)
            elif kind == FOLLOW_UPS:
                sample = followup(rng, 0.5, held_out=True)
            else:
                sample = worded(CORES[kind], rng, 0.5, held_out=True)
            if sample.kind == kind:
                samples.append(sample)
    return samples
