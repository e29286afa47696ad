"""Counting what the message itself names: words, letters, items of a list, and those of one kind among them."""

from __future__ import annotations

from random import Random

from training.corpus.cores.core import Core
from training.corpus.cores.relation import grammar
from training.corpus.phrasing import with_articles
from training.corpus.tables.kinds import KINDS, OVERLAPPING, SINGULARS
from training.corpus.tables.numbers import in_words
from training.corpus.words import COLOUR_WORDS, COMMON, COUNTED, NAMES, THINGS, any_sentence

KIND = "count"
# {t} is a text, {s} a text in quotes or after a colon.
WORDS = grammar(
    """
    How many words [are there|are|do you see|do you count|stand] in [the sentence|the text|the line|this|this \
    sentence|]{s}
    How many words [has|does] [the sentence|the text|this sentence|the phrase]{s} [have|]
    [Count|Please count|Can you count|Could you count|Now count] the words [in|of] [this|the sentence|this text|]{s}
    [What is|What's|Tell me|Give me|I need] the number of words [in|of] [this|the sentence|the following|]{s}
    [Number|Count] of words [in|of] [this|]{s}
    [The sentence|The text|This]{s} has how many words?
    [Of|From] how many words [is|does] [this|the sentence] [made|consist]{s}
    How many words [did I write|did I type|do I have|do I use|do I need] [here|in this|]{s}
    [If|When] I [say|write|type]{s} how many words [is that|are that|did I say|was it]?
    [Can|Could|Would] you [tell me|say|find out] how many words [there are in|are in]{s}
    * How long, [in words|counted in words], is{s}
    * Words in{s}
    """
)
LETTERS = grammar(
    """
    How many letters [are there|are|do you see|do you count] in [the word|the name|]{s}
    How many letters [has|does] [the word|]{s} [have|]
    [Count|Please count|Can you count|Could you count|Now count] the letters [in|of] [the word|]{s}
    [What is|What's|Tell me|Give me|I need] the number of letters [in|of] [the word|]{s}
    [Number|Count] of letters [in|of] [the word|]{s}
    [The word|]{s} has how many letters?
    [With|From] how many letters do [I|you] [write|spell] [the word|]{s}
    How many letters [long is|make up|does one need for|do you need for|form] [the word|]{s}
    How many letters long is [the word|]{s}
    [If|When] I [spell|write] [the word|]{s} how many letters [is that|do I need|do I write]?
    [Can|Could|Would] you [tell me|say|find out] how many letters [there are in|are in] [the word|]{s}
    [letter count|number of letters] in{s}
    * How long, [in letters|counted in letters], is{s}
    * Letters in{s}
    """
)
ITEMS = grammar(
    """
    How many [things|items|entries|elements] [are|are there] in [this list|my list|the list|the following \
    list]: {l}[?|]
    How many [things|items|entries] does [this list|my list|the list] [have|contain]: {l}[?|]
    How many [things|items] [do I name|did I name|do I list|are these|are named here|do you count]: {l}[?|]
    [Count|Please count|Can you count|Could you count] [these|the things|the items|the following|these things]: \
    {l}[?|.|]
    {l}: how many [things|items] [are|is] [that|these|it]?
    {l}. How many [things|items] [are there|are these|is that|did I name|have I got]?
    I [bought|have|need|see|packed] {l}. How many [things|items] [are that|is that|do I have|are these]?
    [My|The] list [is|has|says] {l}. How many [things|items] [are on it|is that|does it have]?
    [In my bag|On the table|In the room] [are|there are|I find] {l}. How many things[ are there| is that|]?
    [What is|Tell me|Give me] the number of [items|things|entries] in {l}[.|?|]
    {name} [has|buys|brings] {l}. How many [things|items] [is that|are these|does {name} have]?
    How many [things|items] [are there|is it|do I have|do I carry] [if|when] [I have|I pack|I buy|there are|we need] \
    {l}?
    How many [things|items] [are in|are there in] [my bag|the box|a bag|the drawer] with {l}?
    [My|A|The] [bag|box|drawer|cart|room] [has|holds|contains] {l}. How many [things|items] [are in it|is that|are \
    there]?
    [Mum|Dad|My aunt|{name}] [gave me|bought|packed|lost|wants] {l}. How many [things|items] [was that|is that|are \
    these]?
    [If|Suppose] I [buy|take|pack|need] {l}[,|:] how many [things|items] [is that|do I have|are there]?
    [From|Of] {l}, how many [things|items] [are there|did I name]?
    I [take|put|lay] {l} [on the table|in a box|into my bag]. How many [things|items] [are there|is that] [now|in all|]?
    [We|I] [still|] [need|have] {l}: [how many things|how many items] [is that|are there|are missing]?
    How many things are on [this|my] list: {l}[?|]
    * The length of [this|the] list: {l}[?|]
    * {l}: [tell|say] how many I [wrote|said].
    """
)
AMONG = grammar(
    """
    How many [of these|of the following|of them|of the words|of these words] are {k}: {l}[?|]
    How many {k} [are|are there|do you see|do you find|can you find] in [this list|the list|my list|the following]: \
    {l}[?|]
    How many {k} [are|are there] [among|in]: {l}[?|]
    How many {k} [do I name|did I name|do I list|are named here|are listed]: {l}[?|]
    [Count|Please count|Can you count|Could you count|Now count] the {k}[ in this list| here| among these|]: {l}[?|.|]
    {l}: how many {k} [are there|are these|are among them|do you count]?
    {l}. How many [are {k}|of these are {k}|{k} are there|of them are {k}]?
    I [bought|have|see|like|wrote down] {l}. How many {k} [are there|is that|are among them|do I have]?
    [My|The] list [is|has|says] {l}. How many [{k} are on it|of them are {k}|are {k}]?
    [What is|Tell me|Give me|I need] the number of {k} in {l}[.|?|]
    [{k}|Only the {k}], how many: {l}[?|]
    {name} [says|writes|names] {l}. How many {k} [is that|are there|does {name} name]?
    How many {k} are there if [I have|there are|you see|I write|{name} names] {l}?
    How many {k} are there in [a|the|my] [row|line|list|text] [with|like|of] {l}?
    [In|Among|From|Out of] {l}[,|:] how many {k} are there?
    [I|We] [named|drew|heard|read|learned] {l}. How many [were {k}|of those were {k}|{k} was that]?
    [If|When] I [say|write|name|see] {l}[,|:] how many {k} [are there|is that|did I name]?
    [Which number of|What number of] {k} [is|do you find] in {l}?
    {l}. [Count|Only count|Please count] the {k}[.|!|, please.]
    Not all of these are {k}: {l}. How many [are|of them are {k}]?
    * [Sum up|Tally] the {k}: {l}[.|]
    * From {l} [pick|take] the {k}; how many [did you pick|are they]?
    """
)


# Names of people.
PEOPLE = grammar(
    """
    How many [people|friends|guests|children|kids|persons|names] [are|are there|do I name|did I list|is that]: {l}[?|]
    {l} [come|are coming|are invited] to [dinner|my party|lunch|the match]. How many [people|guests|friends] [is \
    that|are that|are there]?
    {l} [are|sit|wait|play] in the [room|garden|car|house]. How many [people|children|friends] [are|are there|are in \
    there]?
    If {l} come[,|] how many [people|guests|of us] [is that|are there|come]?
    [My|The] [friends|children|brothers and sisters|team] [are|is] {l}. How many [people|persons] [are|is] that?
    [I|We] [met|saw|invited|called] {l}. How many [people|friends] [did I meet|are that|is that|are there]?
    [Count|Count up] the [people|names|friends|guests]: {l}[.|?|]
    {l}: how many [people|names|friends] [are there|is that|are these|]?
    How many people [are in|are there in] [my|our|the] [family|group|team] if [it is|we are|there are] {l}?
    """
)
# {w} is the word whose occurrences are counted.
REPEATED = grammar(
    """
    How many {w}s [are there|are|do you see|can you find|do you count] in [this list|the list|here|this row|]: {l}[?|]
    How many {w}s [are there|do you see|do I have|is that]: {l}[?|]
    How many {w}s are there [if|when] [I have|I see|I draw|you see|there are|{name} writes] {l}?
    How [often|many times] [is|do you see|do you read|does it say] {w} in [this list|the list|this|here]: {l}[?|]
    How [often|many times] [do I|did I] [say|write|name] {w}: {l}[?|]
    [Count|Please count|Can you count] [the|all|all the|only the] {w}s[ here| in this list|]: {l}[.|?|]
    {l}: how many {w}s[ are there| is that| do you see|]?
    {l}. How many {w}s [are there|are that|did I say|do you count|was that]?
    [I see|I drew|I wrote|{name} wrote|There are] {l}. How many {w}s [are there|is that]?
    [What is|Tell me|Give me] the number of {w}s in {l}[.|?|]
    [How often|How many times] does the word {w} [occur|appear|come|stand] in {l}?
    In [the list|the row|my list] {l}, how many {w}s are there?
    * [Tally|Number] of {w}s: {l}[.|?]
    """
)
# {l} counts things, of which {k} are asked for.
AMOUNTS = grammar(
    """
    How many {k} are there if [I have|there are|we have|you see|a box has|{name} has|a basket holds] {l}?
    How many {k} are there in a [basket|bag|box|bowl|shop|room] with {l}?
    How many {k} are in [a|the|my] [basket|bag|box|bowl|kitchen|drawer] [with|that has|that holds|containing] {l}?
    How many {k} [do I have|have I got|do I own] if I [have|own|have got|buy|find] {l}?
    How many {k} does {name} have[,| if|:] {name} has {l}?
    [There are|I see|We counted] {l} [on the table|in the box|on the shelf|in the fridge|]. How many {k} [are \
    there|are on it|is that]?
    [I have|I bought|My bag has|{name} has|The box holds|Mum brought|We need] {l}. How many {k} [are there|is that|are \
    those|did I say]?
    [A|The] [basket|bag|box|drawer|shelf] [has|holds|contains] {l}. How many {k} [are in it|are there|does it hold]?
    [A|The] [basket|bag|box] [has|holds|contains] {l}. [Count|Tell me the number of|Give me the number of] {k}[.|?]
    [On|In] the [table|shelf] [are|there are|lie] {l}: how many {k}[ are there|]?
    [If|When|Suppose] there are {l} in a [box|bag|shop|room], how many {k} are there?
    [Mum|Dad|My aunt|{name}] [gave me|bought|packed|sold|lost] {l}. How many {k} [was that|were there|were those]?
    {l}[:|.|,] how many {k}[ are there| are that| is it|]?
    From {l} [I only want|I count] the {k}. How many [are there|is that]?
    [My|The] shopping list says {l}. How many {k} [do I buy|do I need|are on it]?
    [What is|Tell me|Give me] the number of {k} [in|among|if I have] {l}[.|?|]
    [Not everything, just|Only] the {k}[:|,] how many [are there in|in|are in] {l}?
    * [I own|We store] {l}; [the {k} are how many|what is the count of {k}]?
    """
)


def said(number: int, singular: str, plural: str) -> str:
    """The answer: how many there are."""
    return f"There is 1 {singular}." if number == 1 else f"There are {number} {plural}."


def counting(rng: Random, held_out: bool = False) -> Core:
    make = rng.choices((_words, _letters, _items, _among, _repeated), (3, 3, 4, 4, 3))[0]
    return make(rng, held_out)


def _core(text: str, answer: str, names: list[str]) -> Core:
    text = " ".join(text.split()).replace(" ?", "?")
    return Core(KIND, text[:1].upper() + text[1:], answer, tuple(names), is_literal=True)


def _cited(text: str, rng: Random, frame: str) -> str:
    """The frame with the text in quotes, or after a colon where it comes last."""
    if frame.endswith("{s}") and rng.random() < 0.5:
        return frame.replace("{s}", f": {text}")
    quoted = rng.choice((f' "{text}"', f" '{text}'"))
    filled = frame.replace("{s}", quoted)
    return filled if filled.endswith(("?", ".")) else filled + rng.choice(("?", "?", "", "."))


def _words(rng: Random, held_out: bool) -> Core:
    text = any_sentence(rng) if rng.random() < 0.6 else " ".join(rng.sample(COMMON, rng.randint(1, 8)))
    words = text.split()
    return _core(_cited(text, rng, WORDS.say(rng, held_out)), said(len(words), "word", "words"), words)


def _letters(rng: Random, held_out: bool) -> Core:
    word = rng.choice((rng.choice(COMMON), rng.choice(THINGS), rng.choice(NAMES)))
    frame = LETTERS.say(rng, held_out)
    text = frame.replace("{s}", f" {word}") if rng.random() < 0.4 else _cited(word, rng, frame)
    return _core(text, said(len(word), "letter", "letters"), [word])


def _listed(names: list[str], rng: Random) -> str:
    last = rng.choice((" and ", ", and ", ", ", ", "))
    return ", ".join(names[:-1]) + last + names[-1] if len(names) > 1 else names[0]


def _items(rng: Random, held_out: bool) -> Core:
    if not held_out and rng.random() < 0.2:
        people = rng.sample(NAMES, rng.randint(2, 6))
        text = PEOPLE.say(rng).replace("{l}", _listed(people, rng))
        return _core(text, said(len(people), "person", "people"), people)
    kind = rng.choice(list(KINDS))
    pool = KINDS[kind] if rng.random() < 0.3 else rng.choice((COMMON, THINGS, NAMES))
    names = rng.sample(pool, min(len(pool), rng.randint(2, 7)))
    listed = _listed(names, rng)
    if pool in _NOUNS and rng.random() < 0.4:
        listed = with_articles(_listed([f"{rng.choice(_OWNERS)} {name}" for name in names], rng))
    text = ITEMS.say(rng, held_out).replace("{l}", listed).replace("{name}", rng.choice(NAMES))
    return _core(text, said(len(names), "thing", "things"), names)


def _among(rng: Random, held_out: bool) -> Core:
    """Items of one kind among those of another that shares none with it."""
    kind, other = _two_kinds(rng)
    wanted = rng.sample(KINDS[kind], rng.randint(1, 4))
    names = [*wanted, *rng.sample(KINDS[other], rng.randint(0, 3))]
    rng.shuffle(names)
    text = AMONG.say(rng, held_out).replace("{l}", _listed(names, rng)).replace("{k}", kind)
    text = text.replace("{name}", rng.choice(NAMES))
    return _core(text, said(len(wanted), SINGULARS.get(kind, kind.removesuffix("s")), kind), names)


def _two_kinds(rng: Random) -> tuple[str, str]:
    while True:
        kind, other = rng.sample(sorted(KINDS), 2)
        if not set(KINDS[kind]) & set(KINDS[other]) and {kind, other} not in OVERLAPPING:
            return kind, other


def _repeated(rng: Random, held_out: bool) -> Core:
    """How often one word stands among others."""
    pool = rng.choice((*(KINDS[kind] for kind in ("fruits", "animals", "birds", "tools")), COMMON, COLOUR_WORDS))
    wanted, *others = rng.sample(pool, rng.choice((2, 2, 3, 3, 4)))
    names = [*[wanted] * rng.randint(1, 5), *(name for name in others for _ in range(rng.choice((1, 1, 2))))]
    rng.shuffle(names)
    listed = _listed(names, rng) if rng.random() < 0.7 else " ".join(names)
    text = (
        REPEATED.say(rng, held_out).replace("{l}", listed).replace("{w}", wanted).replace("{name}", rng.choice(NAMES))
    )
    return _core(text, said(names.count(wanted), wanted, f"{wanted}s"), names)


def amounts(rng: Random, held_out: bool = False) -> Core:
    """The number of one thing among several that a little story counts."""
    chosen = rng.sample(COUNTED, rng.choice((2, 2, 3)))
    numbers = [rng.randint(1, 12) if rng.random() < 0.7 else rng.randint(2, 99) for _ in chosen]
    is_in_words = rng.random() < 0.4
    counted = [
        f"{in_words(number) if is_in_words else number} {name if number > 1 else name.removesuffix('s')}"
        for name, number in zip(chosen, numbers, strict=True)
    ]
    last = rng.choice((" and ", " and ", ", ", ", and ", " but also ", " and also "))
    place = rng.randrange(len(chosen))
    wanted, number = chosen[place], numbers[place]
    text = AMOUNTS.say(rng, held_out).replace("{l}", ", ".join(counted[:-1]) + last + counted[-1])
    text = text.replace("{k}", wanted).replace("{name}", rng.choice(NAMES))
    text = " ".join(text.split()).replace(" ?", "?")
    return Core(KIND, text[:1].upper() + text[1:], said(number, wanted.removesuffix("s"), wanted), (wanted,))


_NOUNS = (THINGS, *(KINDS[kind] for kind in ("animals", "tools", "instruments", "vehicles", "pieces of furniture")))
_OWNERS = ("a", "a", "a", "my", "the", "his", "our")
