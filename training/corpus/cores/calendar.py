"""Days, months and seasons: what comes after and before, how long months are, and ordinals."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from training.corpus.cores.relation import Relation, grammar
from training.corpus.fact_tables import DAYS, DAYS_IN_MONTH, MONTHS, NEXT, ORDINAL_WORDS, ORDINALS
from training.corpus.facts import reversed_pairs
from training.corpus.words import new_word

NUMERALS = ("1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th", "9th", "10th", "11th", "12th")


def _sort_forms(name: str) -> Mapping[str, str]:
    sort = "day" if name in DAYS else "month" if name in MONTHS else "season"
    return {"x": name, "sort": sort}


def _no_day(rng: Random) -> str:
    return f"{new_word(rng).capitalize()}{rng.choice(('day', 'ber', 'ary', ''))}"


def _ordinal_forms(ordinal: str) -> Mapping[str, str]:
    """The parts of "first day of the week": its number in words and as 1st, and the unit."""
    number, unit, *_ = ordinal.split()
    place = ORDINAL_WORDS.index(number)
    forms = {"x": ordinal, "first": number, "1st": NUMERALS[place], "unit": unit, "n": str(place + 1)}
    return forms | {"whole": "week" if unit == "day" else "year"}


NEXT_OF = Relation(
    "days and months",
    NEXT,
    "After {x} comes {y}.",
    grammar(
        """
        What [comes|is] [right|just|directly|immediately|] after {x}? => what [comes|is] [right|] after {x}
        Which [{sort}|one] [comes|is] [right|just|directly|] after {x}? => which {sort} [comes|is] after {x}
        [What|Which] {sort} [follows|succeeds] {x}? => what {sort} [follows|succeeds] {x}
        What {sort} [is|comes] next after {x}? => what {sort} is next after {x}
        If [today|it|this {sort}|now] is {x}, what [is|comes] [next|after|tomorrow|then]?
        [Today|It|Now] is {x}. [What|Which {sort}] [comes next|comes after|is next]?
        After {x} [comes|is|there is|follows][...|?| what?| ___| which {sort}?]
        {x} is [followed by|before][...|?| what?| ___| which {sort}?]
        {x} and then[...|?| what?| which {sort}?|]
        {x} comes [right|just|] before [what|which {sort}][?|]
        [{sort}|what] after {x}[?|]
        next after {x}[?|]
        next {sort} after {x}[?|]
        after {x}[?| what?| what| comes]
        [When|Once] {x} [is over|ends|has ended], [what|which {sort}] [begins|starts|comes]?
        [The|Which] {sort} after {x}[?| is?| is which?]
        {x}... what comes then?
        In the order of {sort}s, what [follows|comes after] {x}?
        [What|Which {sort}] comes when {x} [is over|ends|has passed]?
        One {sort} after {x} is[...|?| what?| ___]
        [Complete|Finish|Continue]: {x}, [...|___|?]
        Does [Monday|Friday|Sunday|May|June|April|spring|winter] come after {x}, or what does?
        * {x} makes way for [which|what] {sort}?
        * [Which|What] {sort} do we have once {x} is gone?
        * Following {x}, what have we?
        """
    ),
    grammar(
        """
        the {sort} [right|directly|just|immediately|] after {x}
        the next {sort} after {x}
        the {sort} following {x}
        the {sort} that [follows|comes after] {x}
        the one after {x}
        the {sort} that comes next after {x}
        * the successor of {x}
        * the {sort} behind {x}
        """
    ),
    forms=_sort_forms,
    stranger=_no_day,
)
PREVIOUS_OF = Relation(
    "days and months",
    reversed_pairs(NEXT),
    "Before {x} comes {y}.",
    grammar(
        """
        What [comes|is] [right|just|directly|] before {x}? => what [comes|is] [right|] before {x}
        Which [{sort}|one] [comes|is|was] [right|just|directly|] before {x}? => which {sort} [comes|is] before {x}
        [What|Which] {sort} [precedes|preceded] {x}? => what {sort} precedes {x}
        If [today|it|now] is {x}, what was [before|yesterday|the {sort} before|the last {sort}]?
        [Today|It|Now] is {x}. [What|Which {sort}] [came|was] before?
        Before {x} [comes|is|there is|was][...|?| what?| ___| which {sort}?]
        {x} [follows|comes right after|comes after|is preceded by][...| what?| ___| which {sort}?]
        [{sort}|what] before {x}[?|]
        before {x}[?| what?| what| comes]
        [The|Which] {sort} before {x}[?| is?| is which?]
        {x} comes [right|just|] after [what|which {sort}][?|]
        [What|Which {sort}] [ends|is over|has ended] when {x} [begins|starts|comes]?
        One {sort} before {x} is[...|?| what?| ___]
        [What|Which] {sort} [leads to|is followed by] {x}? => what {sort} is followed by {x}
        In the order of {sort}s, what [precedes|comes before] {x}?
        {x} [and|,] what was before[?|]
        * [Which|What] {sort} had we until {x} began?
        * {x}, what came ahead of it?
        * Going back from {x}, what is the {sort}?
        """
    ),
    grammar(
        """
        the {sort} [right|directly|just|immediately|] before {x}
        the previous {sort} before {x}
        the {sort} preceding {x}
        the {sort} that [precedes|comes before] {x}
        the one before {x}
        the last {sort} before {x}
        * the predecessor of {x}
        * the {sort} ahead of {x}
        """
    ),
    forms=_sort_forms,
    stranger=_no_day,
)
LENGTH_OF = Relation(
    "days and months",
    DAYS_IN_MONTH,
    "{x} has {y} days.",
    grammar(
        """
        How many days [are|are there|do we have|can you count] in {x}? => how many days [are|there are] in {x}
        How many days does [{x}|the month of {x}|the month {x}] have? => how many days {x} has
        How many days has {x}[ got|]? => how many days {x} has
        How [long|many days long] is {x}[ in days|]? => how long {x} is
        How many days [long is|make|make up] {x}?
        [Does|Has] {x} [have|] [30 or 31|28, 30 or 31|31 or 30|thirty or thirty-one] days?
        {x} has how many days[?|]
        {x} has[...| ___] days[?|.|]
        {x} days[?|]
        days in {x}[?|]
        days of {x}[?|]
        how many days {x}[?|]
        {x} how many days[?|]
        [number|nr] of days in {x}[?|]
        length of {x}[?|]
        {x} is how [long|many days long][?|]
        In {x} [there are|I have|we have] how many days[?|]
        My holiday lasts all of {x}. How many days is that?
        On [which|what] date does {x} end, [so|or] how many days has it?
        [Complete|Finish]: {x} has ___ days.
        Is {x} a [long|short] month? How many days [has it|does it have]?
        [Count|Tell me] the days of {x}[.|, please.]
        * For how many days [does {x} last|does {x} go on|is it {x}]?
        * How many times does the sun rise in {x}?
        * {x}, thirty days or how many?
        """
    ),
    grammar(
        """
        the number of days [in {x}|of {x}|{x} has|that {x} has]
        the length of {x} in days
        the number of days in the month of {x}
        how many days {x} has
        * the count of days that make up {x}
        """
    ),
    grammar("How many days have {x}?\nHow many days do {x} have?\nThe days in {x}?\n* {x}: how many days each?"),
    forms=lambda month: {"x": month},
    stranger=_no_day,
)
ORDINAL_OF = Relation(
    "days and months",
    ORDINALS,
    "The {x} is {y}.",
    grammar(
        """
        [What|Which] {unit} is the {first} [of the {whole}|in the {whole}|one|]? => [what|which] {unit} is the {first}
        [Which|What] is the [{first}|{1st}] {unit}? => [which|what] is the {first} {unit}
        [Which|What] {unit} comes {first} [in the {whole}|in a {whole}]? => [which|what] {unit} comes {first}
        [Which|What] {unit} is number {n}[ of the {whole}| in the {whole}|]?
        [{first}|{1st}] {unit}[?|]
        [{first}|{1st}] {unit} of [the|a] {whole}
        {unit} number {n}[?|]
        {unit} {n}[?|]
        {unit} nr {n} is[...|?| what?]
        The {whole}'s {first} {unit}[?|]
        The {first} of the {unit}s is[...|?| which?]
        [The|a] {whole} has as [its|the] {first} {unit}[...|?| what?]
        [How|What] is the {first} {unit} of the {whole} called? => how the {first} {unit} is called
        [Name|Tell me] {unit} number {n}[.|, please.]
        Counting [{unit}s|from the beginning], which is the {first}[ {unit}|]?
        * In {first} place [of|among] the {unit}s of the {whole} [is|stands] what?
        * [What|Which] {unit} do we count as the {1st}?
        * Of all {unit}s, which is in place {n}?
        """
    ),
    grammar(
        """
        the {x}
        the {x}
        the {1st} {unit} of the {whole}
        the {first} {unit} in [the|a] {whole}
        the {first} {unit}
        the {1st} {unit}
        the {whole}'s {first} {unit}
        the name of the {x}
        {unit} number {n} of the {whole}
        * the {unit} in place {n} of the {whole}
        """
    ),
    forms=_ordinal_forms,
)
RELATIONS = (NEXT_OF, PREVIOUS_OF, LENGTH_OF, ORDINAL_OF)
