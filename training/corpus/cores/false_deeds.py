"""Questions about deeds that nobody did, parts that no animal has, and counts, colours and sounds that are wrong."""

from __future__ import annotations

from random import Random

from training.corpus.cores.core import Core
from training.corpus.cores.relation import UNKNOWN, grammar
from training.corpus.fact_tables import phrases
from training.corpus.hedges import hedge
from training.corpus.phrasing import with_articles
from training.corpus.tables.animals import CLASSES, LEGS, SOUNDS, plural
from training.corpus.tables.nature import COLOURS
from training.corpus.tables.numbers import in_words
from training.corpus.tables.units import UNITS
from training.corpus.words import COLOUR_WORDS

# Who did what: the verb as a base, in the past and as a participle, and its object.
_DEEDS = tuple(
    tuple(part.strip() for part in line.split(";"))
    for line in """
    Shakespeare; write; wrote; written; Hamlet
    Leonardo da Vinci; paint; painted; painted; the Mona Lisa
    Alexander Graham Bell; invent; invented; invented; the telephone
    Isaac Newton; discover; discovered; discovered; gravity
    Albert Einstein; develop; developed; developed; the theory of relativity
    Beethoven; compose; composed; composed; the Moonlight Sonata
    Christopher Columbus; sail to; sailed to; reached; America
    Neil Armstrong; walk on; walked on; reached; the moon
    """.strip().splitlines()
)
_DEED_FRAMES = grammar(
    """
    [When|Where|Why|How|In which year|In what city|For whom] did {person} {base} {object}?
    [When|Where|Why|How|In which year] was {object} {participle} by {person}?
    [How old|How rich|How famous] was {person} when [he|this man] {past} {object}?
    {person} {past} {object}[, right? When|, but when|. Why|. When was that|, wasn't it? How long did it take]?
    [Which year|What year] was it [when|that] {person} {past} {object}?
    How come {person} {past} {object}?
    [Tell me|Explain|I'd like to know] [how|why|when] {person} {past} {object}[.|, please.|]
    [How long|How many years|How many tries] did it take {person} to {base} {object}?
    [Was it hard|Was it expensive|Did it take long] for {person} to {base} {object}?
    [After|Before] {person} {past} {object}, [what did he do|where did he live|was he famous]?
    * [With whose help|Under which king] did {person} {base} {object}?
    """
)
# {a} is an animal, {as} its plural, {part} what it has not got.
_PART_FRAMES = grammar(
    """
    How many {part} [does a {a} have|has a {a}|do {as} have|are on a {a}]?
    [Where|Why] do {as} [have|keep|hide|carry] their {part}?
    What colour are [the {part} of a {a}|a {a}'s {part}|the {part} of {as}]?
    [Why|How come] [a {a} has|{as} have] {part}[?|, please?]
    [What|For what] does a {a} [use its|need its] {part}[ for|]?
    How [long|big|heavy|strong] are [the {part} of a {a}|{as}' {part}|a {a}'s {part}]?
    [How fast|How high] can a {a} [go|travel] with its {part}?
    [When|At what age] do {as} [get|lose|grow] their {part}?
    [The {part} of|I love the {part} of] {as} [are pretty|are soft]. How many are there?
    * [With how many|With which] {part} [is a {a}|are {as}] born?
    """
)
# {a} has {n} legs, which is wrong.
_LEG_FRAMES = grammar(
    """
    [Why|How come|Since when] [does a {a} have|do {as} have|has a {a}|have {as}] {n} legs?
    [What|How] does a {a} do with its {n} legs?
    [Given|Since|Because] {as} have {n} legs, [how fast are they|how do they run|why do they limp]?
    [Which|What] of [the|its] {n} legs does a {a} [use|move] first?
    {as} have {n} legs[, but why|. Why|. Since when|, right? Why is that]?
    * [For what reason|By what luck] did {as} get {n} legs?
    """
)
# {a} and {b} with sounds that neither makes.
_SOUND_FRAMES = grammar(
    """
    [Why|How come|Since when] [does a {a}|do {as}] [say|go] {sound}?
    [Since|If|As|Given that|Now that] {as} [say|go] {sound}, what do {bs} [say|do]?
    [How loud|How often] does a {a} say {sound}?
    [When|Why] did {as} start to say {sound}?
    {as} [say|go] {sound}[, but why|. Why is that|. How come]?
    * [For what reason] does {sound} come out of a {a}?
    """
)
# {thing} is {colour}, which is wrong.
_COLOUR_FRAMES = grammar(
    """
    Why is {thing} [always|so|] {colour}?
    Why does {thing} [always|] look [so|] {colour}?
    [How come|Since when] is {thing} {colour}?
    [What|Who] [makes|made] {thing} {colour}?
    [Given|Since|As] {thing} is {colour}, [what is it made of|why do people like it|can it change]?
    {thing} is {colour}[, but why|. Why is that|. How come|, isn't it? Why]?
    * [For what reason|Thanks to what] is {thing} {colour}?
    """
)
# {np} are not {n}.
_COUNT_FRAMES = grammar(
    """
    [Why|How come|Since when] are there {n} {np}?
    [Who|Which king] [decided|said|ordered] that there are {n} {np}?
    [If|Since|As|Because] there are {n} {np}, [why does nobody count them|how long is that|what is the last one called]?
    There are {n} {np}[, but why|. Why is that|. How come|, right? Who decided that]?
    * [On what grounds|By what law] are there {n} {np}?
    """
)
_FIRST_FRAMES = grammar(
    """
    Who was the first [person|man|human|woman|astronaut] [on|to walk on|to stand on|to land on] {place}?
    [When|How|In which year] did [the first man|the first person|Neil Armstrong|someone] [land|walk|step] on {place}?
    [Which|What] [astronaut|person] [walked|stood|landed] on {place} first?
    * Whose foot [touched|stepped on] {place} first?
    """
)
_FAR_PLACES = phrases("the sun, Saturn, Venus, Jupiter, Mars, Mercury, Neptune, Uranus, Pluto, a comet, a star")
# What animals of a class have not got.
_MISSING = {
    "a mammal": phrases("feathers, gills, scales, beaks, wings, antennae, petals, wheels, roots"),
    "a bird": phrases("teeth, gills, horns, hooves, antennae, trunks, hands, fins, pockets"),
    "a fish": phrases("arms, wings, feathers, hooves, ears of fur, hands, knees, antlers, beaks"),
    "a reptile": phrases("feathers, horns of gold, wings, gills, hooves, antlers, hair, whiskers, trunks"),
    "an insect": phrases("fins, hooves, teeth of gold, lungs, hair, bones, beaks, feathers, horns of silver"),
    "an amphibian": phrases("feathers, hair, hooves, wings, antlers, beaks, trunks, horns, whiskers"),
}
# Mammals that have wings, scales, or nothing that can be said with certainty.
_SPECIAL = ("bat", "human", "platypus", "dolphin", "whale")


def false_deed(rng: Random, held_out: bool = False) -> Core:
    """A question with a premise that contradicts what the corpus says."""
    make = rng.choice((_deed, _deed, _part, _part, _legs, _sound, _colour, _count, _first))
    text = with_articles(" ".join(make(rng, held_out).split()))
    return Core(UNKNOWN, text[:1].upper() + text[1:], hedge(rng))


def _deed(rng: Random, held_out: bool) -> str:
    (person, *_), (_, base, past, participle, done) = rng.sample(_DEEDS, 2)
    frame = _DEED_FRAMES.say(rng, held_out)
    return frame.format(person=person, base=base, past=past, participle=participle, object=done)


def _part(rng: Random, held_out: bool) -> str:
    animal = rng.choice([each for each in CLASSES if each not in _SPECIAL])
    part = rng.choice(_MISSING[CLASSES[animal]])
    return _of_animal(_PART_FRAMES.say(rng, held_out), animal, part=part)


def _legs(rng: Random, held_out: bool) -> str:
    animal = rng.choice([animal for animal in LEGS if LEGS[animal] != "no"])
    wrong = rng.choice([n for n in ("two", "three", "four", "five", "six", "eight", "ten") if n != LEGS[animal]])
    return _of_animal(_LEG_FRAMES.say(rng, held_out), animal, n=wrong)


def _sound(rng: Random, held_out: bool) -> str:
    animal, other, third = rng.sample(list(SOUNDS), 3)
    while SOUNDS[other] == SOUNDS[animal]:
        other = rng.choice(list(SOUNDS))
    return _of_animal(_SOUND_FRAMES.say(rng, held_out), animal, sound=SOUNDS[other], bs=plural(third))


def _of_animal(frame: str, animal: str, **values: str) -> str:
    return frame.replace("{as}", plural(animal)).format(a=animal, **values)


def _colour(rng: Random, held_out: bool) -> str:
    thing = rng.choice(list(COLOURS))
    colour = rng.choice([colour for colour in COLOUR_WORDS if colour != COLOURS[thing]])
    return _COLOUR_FRAMES.say(rng, held_out).format(thing=thing, colour=colour)


def _count(rng: Random, held_out: bool) -> str:
    pair = rng.choice(list(UNITS))
    number = int(UNITS[pair])
    wrong = rng.choice([other for other in (number - 1, number + 1, number + 2, number * 2) if other > 1])
    said = str(wrong) if wrong > 100 or rng.random() < 0.5 else in_words(wrong)
    return _COUNT_FRAMES.say(rng, held_out).format(n=said, np=pair)


def _first(rng: Random, held_out: bool) -> str:
    return _FIRST_FRAMES.say(rng, held_out).format(place=rng.choice(_FAR_PLACES))
