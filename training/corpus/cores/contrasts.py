"""Questions for one thing and not for another, about what was mentioned before, and shortened ones about several."""

from __future__ import annotations

from random import Random

from training.corpus.cores import animals, calendar, countries, general, nature, vocabulary
from training.corpus.cores.core import Core
from training.corpus.cores.relation import Relation, formatted, grammar
from training.corpus.phrasing import with_articles
from training.corpus.tables import contexts
from training.corpus.wording.chat_frames import uncapitalised
from training.corpus.wording.contexts import BRIDGE_RATE, BRIDGES, filled
from training.corpus.wording.grammar import Grammar

CONTRASTS = grammar(contexts.PHRASE_CONTRASTS)
MENTIONS = {topic: grammar(text) for topic, text in contexts.MENTIONS.items()}
# {q} asks about the first thing; {x} is the next one as it is named after other words.
ELLIPSES = grammar(
    """
    {q} And {x}?
    {q} And [of|for|with|in the case of] {x}?
    {q} [And what about|What about|How about|And how about|Also|And also|Same for|The same for|Likewise for] {x}?
    {q} [Then|Next|After that|Second|Now|And then|And now] [the same for|] {x}[?|.]
    {q} [I also need|I also want|I need the same for|And I ask the same about|Also tell me about] {x}.
    {q} [Same question|The same question|Same thing] [for|about|with] {x}[?|.|, please.]
    {b}, [and|and also|also|then] {x}?
    {b}, and [of|for|what about|how about|the same for] {x}?
    {b} and [what about|how about|the same for|likewise for] {x}?
    {b}, {x}?
    {b} + {x}?
    {b}; {x}?
    {b} / {x}?
    {b} & {x}?
    {b} and then {x}?
    {b} as well as {x}?
    1. {b} 2. {x}
    1) {b} 2) {x}
    a) {b} b) {x}
    * {b}, followed by {x}?
    * {q} [Ditto|And once more] [for|] {x}[?|.]
    """
)
# Questions about the thing that was mentioned last.
PRONOUNS: tuple[tuple[Relation, str, Grammar], ...] = tuple(
    (relation, topic, grammar(text))
    for relation, topic, text in (
        (
            countries.CAPITAL_OF,
            "country",
            """
            [What|Which city|Which] is [its|the] capital[?| there?| city?| called?]
            [What's|Whats] [its|the] capital[?| there?| city?]
            [What|How] is [its|the country's|that country's] capital called?
            [And|] [its|the] capital [is what|is|would be which city]?
            [Which|What] city is its capital?
            [Tell me|Give me|Name|I need] [its|the country's] capital[.|, please.|?]
            [Do you know|Can you tell me|Could you say] [its|the country's] capital?
            What is [that country's|the country's|this country's] capital?
            [I wonder|Tell me] what its capital is[.|?]
            * [Which|What] [metropolis|seat of government] does it have as capital?
            """,
        ),
        (
            countries.CONTINENT_OF,
            "country",
            """
            [On|In] [which|what] continent is [it|that|that country|this country]?
            [Which|What] continent [is it on|is it in|does it belong to|is that]?
            [What|Which] is its continent?
            [Its|The] continent[?|, please.]
            [Tell me|Name|I need] its continent[.|, please.]
            * [Which|What] part of the world does it lie in?
            """,
        ),
        (
            general.LANGUAGE_OF,
            "country",
            """
            [What|Which] language [is spoken|do they speak|do people speak|will I hear|do I need] there?
            [What|Which] is its language?
            What do [they|people] speak there?
            [Which|What] language should I learn for it?
            [Tell me|Name|I need] the language [there|they speak|of that country][.|, please.]
            * [Which|What] tongue do its people use?
            """,
        ),
        (
            general.CURRENCY_OF,
            "country",
            """
            [What|Which] [currency|money] [is used|do they use|do people use|do I need|do I pay with] there?
            [What|Which] is its currency?
            What do [they|people|you|I] pay with there?
            [Tell me|Name|I need] [its currency|the currency there][.|, please.]
            * [Which|What] coins do its people count?
            """,
        ),
        (
            nature.SYMBOL_OF,
            "thing",
            """
            [What|Which] is its [symbol|chemical symbol]?
            [What's|Whats] its [symbol|chemical symbol]?
            [Which|What] [symbol|chemical symbol|abbreviation] does it have?
            [Its|The] symbol[?|, please.]
            [Tell me|Name|Write|I need] its symbol[.|, please.]
            * [Which|What] letters stand for it in chemistry?
            """,
        ),
        (
            nature.COLOUR_OF,
            "thing",
            """
            [What|Which] [colour|color] [is it|does it have|is that]?
            [What|Which] is its [colour|color]?
            [Tell me|Name|I need] its [colour|color][.|, please.]
            * In [which|what] colour do I paint it?
            """,
        ),
        (
            animals.YOUNG_OF,
            "thing",
            """
            [What|How] is its [baby|young] called?
            What do [you|we|people] call its [baby|young]?
            [Tell me|Name|I need] the [name of|word for] its [baby|young][.|, please.]
            * [Which|What] name has its [offspring|little one]?
            """,
        ),
        (
            animals.SOUND_OF,
            "thing",
            """
            [What|Which] [sound|noise] does it make?
            What does it say?
            [Tell me|Name] [its sound|the sound it makes|the noise it makes][.|, please.]
            * How does it sound?
            """,
        ),
        (
            animals.LEGS_OF,
            "thing",
            """
            How many legs [does it have|has it|has it got]?
            On how many legs does it [walk|stand|run]?
            [Tell me|Count] [its legs|the number of its legs][.|, please.]
            * [What|Which] number of legs carries it?
            """,
        ),
        (
            animals.CLASS_OF,
            "thing",
            """
            [What|Which] [kind|sort|type|class] of animal is [it|that]?
            [To which|What] class of animals does it belong[ to|]?
            * Among which animals is it counted?
            """,
        ),
        (
            vocabulary.OPPOSITE_OF,
            "thing",
            """
            [What|Which] is its opposite?
            [What's|Whats] the opposite of [it|that|this word|that word]?
            [Tell me|Name|I need] its opposite[.|, please.]
            [Which|What] word is its [opposite|antonym]?
            * [Which|What] word says the contrary of it?
            """,
        ),
        (
            calendar.LENGTH_OF,
            "thing",
            """
            How many days [does it have|has it|are in it]?
            How [long|many days long] is [it|this month|that month]?
            * For how many days does it go on?
            """,
        ),
    )
)


def contrast(rng: Random, relation: Relation, others: tuple[Relation, ...], held_out: bool = False) -> Core:
    """A question for the y of one thing, and not for that of another, or for something else about it."""
    x = relation.any_x(rng)
    other = rng.choice(others) if rng.random() < 0.3 else relation
    z = other.any_x(rng)
    while z == x and other is relation:
        z = other.any_x(rng)
    text = CONTRASTS.say(rng, held_out)
    text = text.replace("{np}", relation.phrase(rng, x)).replace("{zp}", other.phrase(rng, z))
    return Core(relation.kind, formatted(text, {}), relation.say(x), tuple(x.split()))


def mention(rng: Random, kind: str, held_out: bool = False) -> Core | None:
    """A sentence that names a thing, and a question that means it by a pronoun; None where a kind has none."""
    usable = [entry for entry in PRONOUNS if entry[0].kind == kind]
    if not usable:
        return None
    relation, topic, questions = rng.choice(usable)
    x, z = rng.sample(list(relation.pairs), 2)
    new = rng.choice(("mention", "question")) if held_out else ""
    names = {"{x}": _named(relation, x), "{z}": _named(relation, z)}
    said = MENTIONS[topic].say(rng, new == "mention")
    for placeholder, name in names.items():
        said = said.replace(placeholder, name)
    asked = questions.say(rng, new == "question")
    asked = asked[:1].upper() + asked[1:]
    if rng.random() < BRIDGE_RATE:
        bridge = BRIDGES.say(rng)
        asked = f"{bridge} {asked if bridge[-1] in '.!?' else uncapitalised(asked)}"
    said = with_articles(filled(said, rng))
    text = f"{said[:1].upper()}{said[1:]} {asked}"
    return Core(relation.kind, text, relation.say(x), tuple(x.split()))


def ellipsis(rng: Random, relation: Relation, held_out: bool = False) -> Core:
    """A question about one thing, then the names of one or two more; all are answered in order."""
    first, *others = rng.sample(list(relation.pairs), rng.choice((2, 2, 2, 3)))
    text = relation.core(rng, x=first).text
    for x in others:
        frame = ELLIPSES.say(rng, held_out and x == others[-1])
        text = frame.replace("{q}", text if text[-1] in "?.!" else f"{text}?").replace("{b}", text.rstrip("?.! "))
        text = text.replace("{x}", _named(relation, x))
    answer = " ".join(relation.say(x) for x in (first, *others))
    return Core(relation.kind, formatted(text, {}), answer, tuple(" ".join((first, *others)).split()))


def _named(relation: Relation, x: str) -> str:
    forms = relation.forms(x)
    return forms.get("a", forms["x"])
