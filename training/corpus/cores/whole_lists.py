"""Lists that are known as a whole: the days, the months, the seasons, the planets, the letters and small numbers."""

from __future__ import annotations

from random import Random

from training.corpus.cores.core import Core
from training.corpus.cores.relation import grammar
from training.corpus.fact_tables import DAYS, MONTHS
from training.corpus.words import word_list

KIND = "list"
_VOWELS = word_list("a e i o u")
_SEASONS = word_list("spring summer autumn winter")
_PLANETS = word_list("Mercury Venus Earth Mars Jupiter Saturn Uranus Neptune")
_CONTINENTS = ("Africa", "Antarctica", "Asia", "Europe", "North America", "Oceania", "South America")
_RAINBOW = word_list("red orange yellow green blue indigo violet")
# What each list may be called after "the", with and without the number of its members.
_NAMES = (
    (DAYS, "[seven|7|] days of [the|a] week|[seven|7|] weekdays|days [in a|of a|of the] week|names of the days"),
    (MONTHS, "[twelve|12|] months of [the|a] year|months [in a year|]|[twelve|12|] months|names of the months"),
    (_SEASONS, "[four|4|] seasons[| of the year| of a year]|names of the seasons|times of the year"),
    (_PLANETS, "[eight|8|] planets[| of the solar system| in our solar system]|names of the planets|planets we know"),
    (_CONTINENTS, "[seven|7|] continents[| of the world| of the earth]|names of the continents"),
    (_RAINBOW, "[seven|7|] colours of [the|a] rainbow|rainbow colours|colors of the rainbow|colours in a rainbow"),
    (_VOWELS, "[five|5|] vowels[| of the alphabet| in the alphabet]"),
)
_MEMBERS = tuple((members, grammar(f"[{names}]")) for members, names in _NAMES)
FRAMES = grammar(
    """
    [What|Which] are [all|] the {x}[?| called?| again?]
    [List|Name|Tell me|Give me|Write|Write down|Say|Recite|Show me|Enumerate] [all|] [of|] the {x}[.|, please.| in \
    order.|]
    [Can|Could|Would|Will] you [list|name|tell me|say|write down] [all|] the {x}[?| please?| for me?| in order?]
    [I|We] [need|want|have to learn|must write down|forgot] [all|] the {x}[.|, please.|. Which are they?|, help me.]
    [Do you know|Can you remember|Could you remind me of] [all|] the {x}?
    the {x}[?|, please.| please|, all of them.| in order|]
    [A list of|The names of|Names of] [all|] the {x}[.|, please.|?|]
    [My|Our] [son|daughter|class|pupil] [is learning|must know|has to name] the {x}[.|,] [what are they|which are \
    they|list them|name them][?|.|]
    [Teach|Help] me [the|to remember the] {x}[.|, please.]
    Which {x} are there?
    [In order|One by one|One after the other][,|:] the {x}[, please.|.|]
    What {x} [exist|are there]?
    * [Go through|Let me have] the {x}[.|, please.]
    * [Can anyone|Who can] [recite|name] the {x}?
    """
)


def whole_list(rng: Random, held_out: bool = False) -> Core:
    members, names = rng.choice(_MEMBERS)
    text = " ".join(FRAMES.say(rng, held_out).format(x=names.say(rng)).split())
    return Core(KIND, text[:1].upper() + text[1:], ", ".join(members))
