"""Words: their opposites and their plurals."""

from __future__ import annotations

from random import Random

from training.corpus.cores.relation import Relation, grammar
from training.corpus.fact_tables import DAYS, MONTHS
from training.corpus.tables.animals import ANIMALS
from training.corpus.tables.countries import CAPITALS
from training.corpus.tables.vocabulary import OPPOSITES, PLURALS
from training.corpus.words import COMMON, NAMES, THINGS, new_word

_WITHOUT_OPPOSITE = tuple(
    word
    for word in (*COMMON, *THINGS, *DAYS, *MONTHS, *ANIMALS, *CAPITALS.values(), *NAMES)
    if word.lower() not in OPPOSITES
)
_NO_NOUN = "quickly slowly and of the because happily under very never always perhaps"


def _no_opposite(rng: Random) -> str:
    return rng.choice(_WITHOUT_OPPOSITE) if rng.random() < 0.5 else new_word(rng)


def _no_plural(rng: Random) -> str:
    return rng.choice(_NO_NOUN.split()) if rng.random() < 0.3 else new_word(rng)


def _forms(word: str) -> dict[str, str]:
    return {"x": word, "quoted": f'"{word}"', "single": f"'{word}'"}


OPPOSITE_OF = Relation(
    "opposites",
    OPPOSITES,
    "The opposite of {x} is {y}.",
    grammar(
        """
        [Which|What] word is the [opposite|antonym|contrary] of {x}? => [which|what] word is the opposite of {x}
        [Which|What] word is [opposite|contrary|opposed] to {x}? => [which|what] word is [opposite|contrary] to {x}
        [What|Which word] [means|expresses] the [opposite|contrary|reverse] of {x}? => what means the opposite of {x}
        What [do you|would you|do we] call the opposite of {x}? => what [you|we] call the opposite of {x}
        If something is not {x}, what is it?
        If [it is|it's|it isn't|a thing is] not {x}, [it is|it's|then it is|what is it]...
        What is [something|it] [if|when] it is [not {x} at all|the opposite of {x}]?
        Not {x} but[...|?| what?| ___]
        Not {x}, but the [opposite|contrary|reverse]?
        {x}[ -| /|,| and its] opposite[?|]
        opposite {x}[?|]
        {x} opposite[?|]
        [opposite|antonym|contrary|reverse] of {x}
        [opposite|antonym]: {x}
        {x} [vs|versus|or|<->|and|/][?|...| ___| what?]
        [antonym|opposite] for {x}[?|]
        {x} is the [opposite|antonym|contrary] of [what|which word][?|]
        {x} is [opposite to|the reverse of|contrary to][...|?| what?| which word?]
        The opposite of which word is {x}?
        [What|Which] is the [opposite|antonym] [word|] [of|to|for] the word [{x}|{quoted}|{single}]?
        What is the opposite of [{quoted}|{single}]?
        [Turn|Change|Convert] {x} into its opposite[.|, please.]
        [Reverse|Negate|Flip] the meaning of {x}[.|, please.]
        [Give|Find|Tell] me a word [that is|which is|that's] the opposite of {x}[.|, please.]
        [Give|Find|Tell] me an [antonym|opposite] [of|for|to] {x}[.|, please.|]
        [Is there|Do you know|Can you think of] an [antonym|opposite] [of|for|to] {x}?
        {x} [has|with] [what|which] opposite[?|]
        [What|Which] opposite [does|has] {x} [have|got]?
        [Complete|Finish]: the opposite of {x} is ___.
        I say {x}, you say the opposite[.|:|...]
        I am looking for the [opposite|antonym] of the word {x}.
        We play opposites: [{x}|I say {x}|my word is {x}][.|!|]
        [What|Which word] is as far from {x} as can be?
        My [clue|crossword|puzzle] says: opposite of {x}.
        {x}? The opposite, [please|I mean].
        [How|What] do you say the opposite of {x}?
        [Someone|Something|He|She|It] is not {x}. [What|So what|Then what] is [the opposite|it]?
        Contrary of {x}, what is?
        * Which term stands against {x}?
        * [Name|Give] the word that {x} is the opposite of.
        * {x} and what form a pair of [opposites|antonyms]?
        * If {x} is one end, [what|which word] is the other?
        * I need the exact reverse of {x} in meaning.
        """
    ),
    grammar(
        """
        the opposite of {x}
        the opposite of {x}
        the opposite of the word {x}
        the antonym [of|for|to] {x}
        an antonym [of|for] {x}
        the contrary [of|to] {x}
        the reverse of {x}
        the [direct|exact|complete|very] opposite [of|to] {x}
        the word opposite to {x}
        {x}'s opposite
        the opposite [word|] [to|for] {x}
        the opposite of {quoted}
        the opposite of {single}
        the opposite meaning of {x}
        the word that means the opposite of {x}
        opposite of {x}
        * the counterpart of {x}
        * the polar opposite of {x}
        * the word you use for not {x}
        """
    ),
    grammar(
        """
        What are the opposites of {x}?
        [Tell me|Give me|Name|List|I need] the opposites of {x}.
        Opposites of {x}[?|, please|]
        What are the antonyms of {x}?
        [Can|Could] you [tell me|name] the opposites of {x}?
        The opposites for {x}?
        What is the opposite of {x}?
        * Which words are opposite to {x}?
        * {x}: their opposites, please.
        """
    ),
    forms=_forms,
    stranger=_no_opposite,
)
PLURAL_OF = Relation(
    "plurals",
    PLURALS,
    "The plural of {x} is {y}.",
    grammar(
        """
        What do you call [more than one|two|several|many] {x}? => what you call more than one {x}
        One {x}, two[...|?| what?| ___]
        1 {x}, 2 [...|?|what?|___]
        How do [you|I|we] [say|write|spell|form] {x} in [the plural|plural]? => how [you|I] say {x} in the plural
        How do [you|I|we] [say|write|make|form] the plural of {x}? => how to make the plural of {x}
        [Make|Put|Turn|Write|Change] {x} [into|in] [plural|the plural|a plural][.|, please.]
        {x} plural[?|]
        plural {x}[?|]
        plural of {x}
        {x} in [the plural|plural][?|]
        If there are [two|many|three|several], it is not {x} but[...|?]
        Is the plural of {x} {x}s[?|, or not?| or something else?]
        I have one {x}, you have two[...|?| what?]
        [Which|What] word is the plural of {x}? => [which|what] word is the plural of {x}
        [Complete|Finish]: one {x}, many ___.
        * [There was|I saw] one {x}, now there are several[...|?]
        * What does {x} become when there are [many|two]?
        """
    ),
    grammar(
        """
        the plural of {x}
        the plural form of {x}
        {x}'s plural
        the plural of the word {x}
        the plural of {quoted}
        the word for [two|many] of a {x}
        * the form of {x} for more than one
        """
    ),
    grammar(
        """
        What are the plurals of {x}?
        The plurals of {x}?
        [Give me|Tell me] the plurals of {x}.
        * {x}: plural forms?
        """
    ),
    forms=_forms,
    stranger=_no_plural,
)
RELATIONS = (OPPOSITE_OF, PLURAL_OF)
