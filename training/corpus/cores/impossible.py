"""Questions whose premise is false, that join things which do not belong together, or that ask for the future."""

from __future__ import annotations

from random import Random

from training.corpus.cores.core import Core
from training.corpus.cores.relation import UNKNOWN, Relation, grammar
from training.corpus.fact_tables import DAYS
from training.corpus.hedges import hedge
from training.corpus.phrasing import with_articles
from training.corpus.tables.countries import CAPITALS
from training.corpus.words import COLOUR_WORDS, NAMES, THINGS, any_city

# {np} stands for a fact, {y} is another value than its own.
FALSE_PREMISES = grammar(
    """
    [Why|How come|Since when|For what reason] is {np} {y}?
    [Why|How come] {np} is {y}?
    [Why|When] did {y} become {np}?
    [Why|When|How] was {y} [chosen|made|taken] as {np}?
    [Who|Which man] [decided|said|discovered|found out] that {np} is {y}?
    [Explain|Tell me|Please explain|Can you explain] why {np} is {y}[.|?|]
    [Given|Now] that {np} is {y}, [why|when|since when] did [it|that] change?
    {np} is {y}[.|,] [why|why is that|since when|how come|who decided it]?
    [Is it because of the war|Was it always so] that {np} is {y}?
    [I wonder|I don't understand|My teacher asks|Everyone asks] why {np} is {y}[.|]
    [What|Which] [law|king|year|reason] made {y} {np}?
    [When|In which year] will {np} [stop being|no longer be] {y}?
    * [On what grounds|By what right] is {np} {y}?
    * [What's the story behind|Give me the background of] {np} being {y}[?|]
    """
)
NONSENSE = grammar(
    """
    What is the capital of [{colour}|{day}|the {thing}|{n}|yesterday|{name}|happiness|the colour {colour}|sleep]?
    [Which|What] city is the capital of [{colour}|{day}|my {thing}|{n}|music]?
    [What|Which] language [do|does] [the {thing}|{colour}|{n}|the {word}|a {thing}] speak?
    [What|Which] currency is used in [{colour}|{day}|the {thing}|my {word}]?
    On which continent is [{colour}|{day}|{n}|a {thing}|my {word}|tomorrow]?
    How many legs [does|has] [{day}|{country}|the {thing}|{colour}|{n}|love|the {word}] have?
    What [sound|noise] does [{day}|{colour}|{country}|{n}|silence|the letter a] make?
    What colour is [{day}|{n}|{name}|a question|the wind|music|{country}|nothing|the word {word}]?
    What is the [baby|young] of [a {thing}|{country}|{day}|{colour}|{n}] called?
    What is the opposite of [{country}|{n}|{name}|a {thing}|{city}|nine {things}]?
    [What|Which] [day|month] comes after [{colour}|{country}|{n}|the {thing}|{name}]?
    What is the chemical symbol of [{day}|{country}|{name}|a {thing}|{n}|laughter]?
    What is {n} [plus|minus|times] [{colour}|{day}|{country}|a {thing}|{name}]?
    What is [{colour}|{day}|{country}|a {thing}|{name}] [plus|minus|times|divided by] {n}?
    How [heavy|long|tall|loud|fast|old] is [{colour}|{day}|the number {n}|a thought|yesterday|the smell of {colour}]?
    [How much|What] does [{day}|{colour}|the letter b|a dream|the number {n}] [weigh|cost|taste like|smell like]?
    [Which|What] [{thing}|{word}] is the fastest on {day}?
    [Where|When] does [{colour}|{n}|the {thing}|{day}] [sleep|live|go to school|have lunch|get married]?
    [Can|Could|Why does|Why can] [a {thing}|{colour}|{day}|the {word}] [dream|swim|read|sing|laugh|count to {n}]?
    [How many|Which] [{things}|corners|wheels] has [{day}|{colour}|{country}|happiness|the sky]?
    [If|When] a {thing} [is|were] {colour}, how many [{day}s|{things}] fit in {country}?
    Is {colour} [taller|heavier|older|louder] than {n}?
    [What|Who] is [north|left|inside] of {n}?
    * [Which|What] hat does {day} wear in {country}?
    * [Paint|Spell] the sound of {n}.
    """
)
FUTURE = grammar(
    """
    [Who|Which team|Which country] will [win|host] the [World Cup|cup|election|next games|league|final|race] in \
    {future}?
    [Who|What man or woman] will be [president|king|queen|prime minister|mayor|champion] [of {country}|in {city}] \
    [in {future}|next year|]?
    [What|How] will the [weather|temperature|sky] be [in {city}|in {country}|here] [next {day}|in {future}|on my \
    birthday|next month]?
    Will it [rain|snow|be sunny|be cold|storm] [in {city}|in {country}|here] [next {day}|tomorrow|next month|in \
    {future}]?
    [What|How much] will [a {thing}|a house|bread|gold|a ticket to {city}] cost [in {future}|next year|in ten years]?
    How many people will [live in|visit|move to] {country} [in {future}|next year|in a hundred years]?
    [What|Which] will be the [largest|richest|best|most popular] [city|country|company|language] [in {future}|in ten \
    years]?
    [What|Which] [numbers|ticket|horse] will [win|be drawn|be lucky] [next {day}|tomorrow|next week]?
    [When|In which year] will [people live on Mars|{country} win|robots rule|I marry|{name} be rich|the world end]?
    [What|Which] [job|car|house|dream|surprise] will [I|{name}|my son] have [in {future}|next year|in ten years]?
    [Will|Is] [{name}|I|my team|{country}|my boss] [going to|] [win|be famous|call me|be rich|get well] [in \
    {future}|tomorrow|soon]?
    [Predict|Foresee|Tell me|Guess] [the weather of next {day}|tomorrow's news|the winner of {future}|my future|the \
    year {future}][.|]
    [What|Who] will [happen|be famous|be invented] [in {future}|in {city} next {day}|tomorrow at noon]?
    [How|] [will|is] the [match|game|story|film|election] [end|turn out|going to end] [tomorrow|next {day}|in \
    {future}]?
    * [What does the future hold|What lies ahead] for [{country}|{name}]?
    * [Which headline|What] stands in the paper of next {day}?
    """
)


def false_premise(rng: Random, relations: tuple[Relation, ...], held_out: bool = False) -> Core:
    """Why a fact is what it is not."""
    relation = rng.choice(relations)
    x = relation.any_x(rng)
    y = relation.pairs[relation.any_x(rng)]
    while y == relation.pairs[x]:
        y = relation.pairs[relation.any_x(rng)]
    text = FALSE_PREMISES.say(rng, held_out).replace("{np}", relation.phrase(rng, x)).replace("{y}", y)
    return _unanswerable(text, rng)


def nonsense(rng: Random, held_out: bool = False) -> Core:
    return _unanswerable(_filled(NONSENSE.say(rng, held_out), rng), rng)


def future(rng: Random, held_out: bool = False) -> Core:
    return _unanswerable(_filled(FUTURE.say(rng, held_out), rng), rng)


def _filled(text: str, rng: Random) -> str:
    return text.format(
        colour=rng.choice(COLOUR_WORDS),
        day=rng.choice(DAYS),
        thing=rng.choice(("fork", "spoon", "lamp", "pillow", "ladder", "candle", "bottle", "pencil", "mirror", "sock")),
        things=rng.choice(("spoons", "chairs", "pillows", "ladders", "socks", "pencils")),
        word=rng.choice(THINGS),
        n=rng.randint(2, 99),
        name=rng.choice(NAMES),
        country=rng.choice(list(CAPITALS)),
        city=any_city(rng),
        future=rng.randint(2031, 2150),
    )


def _unanswerable(text: str, rng: Random) -> Core:
    text = with_articles(" ".join(text.split()))
    return Core(UNKNOWN, text[:1].upper() + text[1:], hedge(rng))
