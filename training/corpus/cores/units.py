"""Units: how many seconds are in a minute, how many sides in a square."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from training.corpus.cores.relation import Relation, grammar
from training.corpus.tables.units import OUTSIDE, UNITS
from training.corpus.words import new_word

_SHAPES = ("sides", "corners", "faces")


def _forms(pair: str) -> Mapping[str, str]:
    """The parts of "seconds in a minute"; only measures have the forms that convert one into the other."""
    parts, _, whole = pair.partition(" in ")
    if not whole:
        parts, _, whole = pair.partition(" on ")
    forms = {"x": pair, "parts": parts, "whole": whole, "bare": whole.split(" ", 1)[-1]}
    if parts in _SHAPES:
        return forms | {"shape": whole}
    if whole.startswith(("a ", "an ")):
        forms |= {"one": "1 " + whole.split(" ", 1)[1]}
    return forms


def _no_unit(rng: Random) -> str:
    if rng.random() < 0.5:
        return rng.choice(OUTSIDE)
    return f"{new_word(rng)}s in a {new_word(rng)}"


UNIT_OF = Relation(
    "units",
    UNITS,
    "There are {y} {x}.",
    grammar(
        """
        How many {parts} are [there|] in {whole}? => how many {parts} [are in {whole}|there are in {whole}]
        How many {parts} does {whole} [have|contain|consist of]? => how many {parts} {whole} [has|contains]
        How many {parts} [has {whole}|has {whole} got]? => how many {parts} {whole} has
        How many {parts} [make|make up|form|are needed for|add up to] {whole}? => how many {parts} make {whole}
        How many {parts} [do you get|do I get|can you find|fit|go|would be|do we have] in {whole}?
        {whole} [has|is|contains|equals|makes] how many {parts}[?|]
        {whole} [has|is|contains|equals]... {parts}[?|.|]
        {whole} [has|is] ___ {parts}.
        {whole} in {parts}[?| is?| is what?| = ?]
        {one} in {parts}[?| is?| = ?]
        {one} = [? {parts}|how many {parts}?|___ {parts}]
        {one} is how many {parts}[?|]
        {one} to {parts}[?|]
        [Convert|Change] {one} [to|into] {parts}[.|, please.|]
        {parts} in {whole}[?|]
        {parts} in {bare}[?|]
        {parts} per {bare}[?|]
        how many {parts} {bare}[?|]
        how many {parts} in {whole}
        how many {parts} per {bare}[?|]
        in {whole} [are|there are] how many {parts}[?|]
        [number|nr] of {parts} in {whole}[?|]
        How many {parts} for {whole}?
        {whole}: how many {parts}[?| is it?| are there?]
        If I have {whole}, how many {parts} [is that|do I have|are there]?
        {whole} [consists of|is made of|is made up of|is divided into] how many {parts}?
        [Count|Tell me] the {parts} [in|of] {whole}[.|, please.]
        [Complete|Finish|Fill in]: there are ___ {parts} in {whole}.
        There are how many {parts} in {whole}?
        {shape}, how many {parts} does it have?
        I drew {shape}. How many {parts} does it have?
        * Into how many {parts} can [we|you] divide {whole}?
        * [What|Which] number of {parts} makes {whole}?
        * {whole}, expressed in {parts}, is?
        * To fill {whole} [I need|takes] how many {parts}?
        """
    ),
    grammar(
        """
        the number of {parts} in {whole}
        the number of {parts} [that make|making] {whole}
        the number of {parts} {whole} has
        the number of {parts} per {bare}
        how many {parts} {whole} has
        the amount of {parts} in {whole}
        * the count of {parts} which {whole} holds
        """
    ),
    forms=_forms,
    stranger=_no_unit,
)
RELATIONS = (UNIT_OF,)
