"""Symbols of elements, and colours of things."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from training.corpus.cores.relation import Relation, grammar
from training.corpus.fact_tables import phrases
from training.corpus.tables.nature import COLOURS, ELEMENTS, NO_ELEMENTS, OTHER_ELEMENT_NAMES
from training.corpus.words import new_word


def _no_element(rng: Random) -> str:
    if rng.random() < 0.5:
        return rng.choice(NO_ELEMENTS)
    return new_word(rng) + rng.choice(("", "ium", "um", "on", "ine", "ium"))


def _no_symbol(rng: Random) -> str:
    while True:
        symbol: str = rng.choice("ABDEGJLMQRTVXZ") + rng.choice(("", *"bcdjkqvwxyz"))
        if symbol not in SYMBOLS:
            return symbol


def _no_colour(rng: Random) -> str:
    things = phrases(
        """a car, a shirt, a house, the door, a book, my bicycle, her dress, his hat, a balloon, a pencil, a chair,
    a cup, a flag, love, time, music, the wind, a dream, a window, a planet, a fish, a bird, a flower, a dog, a cat,
    a horse, paint, my sofa, a bag, a phone, your hair, the future, a song, air, glass, a number"""
    )
    if rng.random() < 0.5:
        return rng.choice(things)
    return f"a {new_word(rng)}"


def _thing_forms(thing: str) -> Mapping[str, str]:
    """The thing as it stands, without its article, and in the plural where that is regular."""
    article, _, noun = thing.partition(" ")
    if article not in ("a", "an"):
        return {"x": thing, "bare": thing.removeprefix("the ")}
    forms = {"x": thing, "bare": noun, "the": f"the {noun}"}
    if noun.endswith(("s", "h", "y", "o", "ouse", "ooth", "f", "x")):
        return forms
    return forms | {"xs": f"{noun}s"}


SYMBOL_OF = Relation(
    "elements",
    ELEMENTS,
    "The symbol of {x} is {y}.",
    grammar(
        """
        [Which|What] [symbol|chemical symbol] does {x} have? => [which|what] [symbol|chemical symbol] {x} has
        [Which|What] [letter|letters|abbreviation] [stand|stands] for {x}? => [which|what] letters stand for {x}
        [Which|What] [letter|letters] [is|are] [used for|the symbol of] {x}[ in chemistry| in the periodic table|]?
        How [is {x} written|do you write {x}|is {x} abbreviated|do chemists write {x}][ in chemistry| as a symbol|]?
        How [is|do they write] {x} in the periodic table[ written| abbreviated|]?
        What is {x} [on|in] the periodic table[?| called?]
        {x} symbol[?|]
        {x} chemical symbol[?|]
        {x} [abbreviation|formula][?|]
        symbol {x}[?|]
        [chemical symbol|symbol|element symbol|chem symbol] [of|for] {x}
        {x}[: | - |, ][symbol|chemical symbol][?|]
        {x} [is written as|has the symbol|is abbreviated|has which symbol|is abbreviated as][...|?| what?| ___]
        {x} in [chemistry|the periodic table|chemical notation][?| is?| is what?| is written how?]
        [In|For] chemistry class: [the symbol of|] {x}[?|.]
        [Write|Abbreviate|Shorten] {x} [as a chemist does|in chemistry|as a chemical symbol|the chemical way].
        [Complete|Finish]: the symbol of {x} is ___.
        If I [see|read] {x} [in|on] the periodic table, [what|which letters] [is|stand] there?
        [What|Which] do chemists [call|write for] {x}?
        The element {x} has [which|what] symbol?
        By [which|what] [symbol|letters] is {x} known? => by [which|what] [symbol|letters] {x} is known
        * How does a chemist [note|shorten] {x}?
        * {x}, which letters is that in a formula?
        * Under [which|what] letters do I find {x}[ in the table of elements|]?
        * What [stands for|denotes] {x} in formulas?
        """
    ),
    grammar(
        """
        the symbol of {x}
        the symbol for {x}
        the chemical symbol [of|for] {x}
        the element symbol [of|for] {x}
        the chemical [abbreviation|sign|notation] [of|for] {x}
        the abbreviation [of|for] {x} in chemistry
        {x}'s symbol
        {x}'s chemical symbol
        the symbol of the element {x}
        the [periodic table|periodic] symbol [of|for] {x}
        the letters for {x} [in|on] the periodic table
        the formula symbol of {x}
        * the shorthand [chemists use|] for {x} in the table of elements
        * the one or two letters for {x}
        """
    ),
    grammar(
        """
        What are the symbols of {x}?
        [Tell me|Give me|Name] the chemical symbols of {x}.
        Symbols of {x}?
        The symbols for {x}?
        * How are {x} written in chemistry?
        """
    ),
    stranger=_no_element,
    other_names=OTHER_ELEMENT_NAMES,
)
ELEMENT_OF = Relation(
    "elements",
    {symbol: element for element, symbol in ELEMENTS.items()},
    "{x} is the symbol of {y}.",
    grammar(
        """
        [Which|What] [element|chemical element|metal or gas] is {x}? => [which|what] [element|chemical element] {x} is
        [Which|What] element has the [symbol|chemical symbol|letters] {x}? => [which|what] element has the symbol {x}
        What does [{x}|the symbol {x}|the letters {x}] [stand for|mean][ in chemistry|]? => what {x} stands for
        What is [{x}|the element {x}] [in chemistry|in the periodic table|as an element]?
        {x} [is|stands for|means] [which|what] element[?|]
        {x} is the [symbol|chemical symbol|abbreviation] [of|for][...|?| what?| which element?| ___]
        element {x}[?|]
        {x} element[?|]
        [which|what] element {x}[?|]
        {x} in the periodic table[?| is what?| is?]
        The symbol {x} belongs to [which|what] element?
        [To|For] [which|what] element does {x} [belong|stand]?
        I [see|read|saw] {x} in a [formula|chemistry book]. [What|Which element] is [it|that]?
        [Complete|Finish]: {x} is the symbol of ___.
        [Name|Tell me|Give me] the element [{x}|with the symbol {x}|written {x}][.|, please.]
        chemistry: what is {x}?
        * {x} denotes which [element|substance]?
        * In a formula, {x} is [which|what] element?
        * A chemist writes {x}. What does he mean?
        """
    ),
    grammar(
        """
        the element [with the symbol|with symbol|written as|called|abbreviated] {x}
        the name of the element {x}
        the element {x}
        the element that {x} stands for
        the meaning of {x} in chemistry
        * the element behind the letters {x}
        """
    ),
    stranger=_no_symbol,
)
COLOUR_OF = Relation(
    "colours",
    COLOURS,
    "{x} is {y}.",
    grammar(
        """
        [What|Which] [colour|color] is {x}? => [what|which] [colour|color] {x} is
        [What|Which] [colour|color] are {xs}? => [what|which] [colour|color] {xs} are
        [What|Which] [colour|color] [does|do|can] {x} [have|has]? => [what|which] [colour|color] {x} has
        [What|Which] [colour|color] is [a typical|the usual|a normal|an ordinary|the] {bare}? => what colour {x} is
        What is {x} [in|for a] [colour|color]?
        How is {x} [coloured|colored]?
        {x} [colour|color][?|]
        {bare} [colour|color][?|]
        [colour|color] of {x}
        [what|which] [colour|color] {bare}[?|]
        {x} is [what|which] [colour|color][?|]
        {xs} are [what|which] [colour|color][?|]
        {x} [is of|has] [what|which] [colour|color][?|]
        [Is|Would] {x} [be|] [red or green|blue or white|black or white|yellow or blue], or what[ colour| color|]?
        Is {x} [red|blue|green|yellow|white|black|brown]? [Or which colour?|What colour is it?|If not, what is it?]
        I want to [paint|draw|colour in] {x}. [What|Which] [colour|color] [do I need|should I take|is right]?
        With [which|what] [colour|color] [do|should|would] [you|I|we] [paint|draw] {x}?
        {x}, what [colour|color] is it?
        [Complete|Finish]: the [colour|color] of {x} is ___.
        [Describe|Say|Name] the [colour|color] of {x}[.|, please.]
        If you look at {x}, [what|which] [colour|color] do you see?
        [What|Which] [colour|color] do {xs} have?
        [Do you know|Tell me] the [colour|color] {x} has[?|]
        * {x} looks [what|which] [colour|color] to you?
        * In [which|what] [colour|color] does nature make {x}?
        * Which crayon do I need for {x}?
        * [What|Which] [shade|tint] is {x}?
        """
    ),
    grammar(
        """
        the colour of {x}
        the color of {x}
        the [usual|typical|normal|natural] [colour|color] of {x}
        the [colour|color] of [a real|your average|an ordinary] {bare}
        the [colour|color] {x} has
        the [colour|color] that {x} has
        the {bare} [colour|color]
        the [colour|color] of {xs}
        * the hue of {x}
        * the paint to use for {x}
        """
    ),
    grammar(
        """
        What colours are {x}?
        What are the colours of {x}?
        [Tell me|Name|Give me] the colors of {x}.
        * {x}: which colours are they?
        """
    ),
    forms=_thing_forms,
    stranger=_no_colour,
)
SYMBOLS = frozenset(ELEMENTS.values()) | {"V", "W", "Y", "Te", "La", "Ra", "Rn", "Re", "Tl", "Md", "Tb"}
RELATIONS = (SYMBOL_OF, ELEMENT_OF, COLOUR_OF)
