"""Capitals and continents of countries."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from training.corpus.cores.relation import Relation, grammar
from training.corpus.tables.animals import ANIMALS
from training.corpus.tables.countries import (
    ADJECTIVES,
    CAPITALS,
    CONTINENTS,
    OTHER_CITY_NAMES,
    OTHER_NAMES,
    OUTSIDE,
)
from training.corpus.words import COMMON, any_name, new_word, word_list


def country_forms(country: str) -> Mapping[str, str]:
    forms = {"x": country, "bare": country.removeprefix("the ")}
    return forms | {"adj": ADJECTIVES[country]} if country in ADJECTIVES else forms


def no_country(rng: Random) -> str:
    draw = rng.random()
    if draw < 0.55:
        ending = rng.choice(("", "", "ia", "land", "stan", "istan", "nia", "ria", "burg", "onia", "a"))
        return new_word(rng).capitalize() + ending
    if draw < 0.85:
        return rng.choice(OUTSIDE)
    return rng.choice((rng.choice(COMMON), rng.choice(ANIMALS), any_name(rng)))


def _no_capital(rng: Random) -> str:
    if rng.random() < 0.5:
        ending = rng.choice(("", "", "ville", "burg", "ton", "city", "o", "grad", "ford"))
        return new_word(rng).capitalize() + ending
    cities = word_list(
        """
        Barcelona Munich Sydney Istanbul Shanghai Mumbai Toronto Milan Naples Hamburg Geneva Zurich Chicago Boston
        Miami Seattle Venice Florence Seville Porto Manchester Liverpool Osaka Kyoto Karachi Lagos Casablanca
        Johannesburg Auckland Melbourne Montreal Vancouver Houston Dallas Krakow Salzburg Antwerp Rotterdam
        Marseille Lyon Nice Frankfurt Cologne Calcutta Dubai Izmir Odessa Gotham Springfield Hogwarts
        """
    )
    return rng.choice(cities)


CAPITAL_OF = Relation(
    "capitals",
    CAPITALS,
    "The capital of {x} is {y}.",
    grammar(
        """
        [Which|What] [city|town|place] is the capital of {x}? => [which|what] [city|town] is the capital of {x}
        [Which|What] [city|town] is [{x}'s|the {adj}] capital? => [which|what] [city|town] is [{x}'s|the {adj}] capital
        {x}'s capital is [which|what] [city|town]?
        The capital of {x} is [which|what] [city|town]?
        [What|Which city] does {x} have as [its|a|the] capital? => [what|which city] {x} has as its capital
        [What|Which] capital does {x} have? => [what|which] capital {x} has
        [What|Which] capital [belongs to|goes with|matches] {x}? => [which|what] capital [belongs to|goes with] {x}
        [From which city|From where|Where] is {x} [governed|ruled]? => [from which city|from where] {x} is governed
        What is [{x}|{bare}] capital [called|named]?
        {bare} capital[?| city?| city||?]
        {bare} - capital[?|]
        capital {bare}[?|]
        capital [of|in|for] {x}
        the {adj} capital[?|]
        {x}[: | - |, ]capital[?| city?]
        {x} has [what|which] capital?
        {x}, what is its capital[ city|]?
        {x}, which city is its capital?
        For {x}, what is the capital?
        In {x}, [what|which city] is the capital?
        [If|When] I [go|fly|travel] to the capital of {x}, [which|what] city [am I in|is that|do I reach]?
        I am going to {x}. What is the capital [there|called]?
        I live in {x}. What is [my|our|the] capital?
        Take {x}. What is its capital?
        Capital city [of|for] {x}, please.
        [Which|What] city [holds|is home to] the [government|parliament] of {x}?
        What is the name of the capital of {x}? => what the name of the capital of {x} is
        What do [you|they|people] call the capital of {x}? => what [you|they] call the capital of {x}
        Is it [true|correct] that {x} has a capital, and which?
        * Where is the seat of government of {x}?
        * [Which|What] city [serves|acts] as [the capital of {x}|{x}'s capital]? => what city serves as {x}'s capital
        * [Thinking of|Talking about|Regarding] {x}: [what|which] is the capital?
        * {x}? The capital, [I mean|please].
        """
    ),
    grammar(
        """
        the capital of {x}
        the capital of {x}
        the capital city of {x}
        {x}'s capital
        {x}'s capital city
        the {adj} capital
        the {adj} capital city
        the [main|first] city of {x}, the capital
        the name of the capital of {x}
        the name of {x}'s capital
        the capital [in|for|from] {x}
        the [government city|seat of government] of {x}
        capital of {x}
        * the city that is capital of {x}
        * the {adj} capital's name
        """
    ),
    grammar(
        """
        What are the capitals of {x}?
        Which are the capitals of {x}?
        [Tell me|Give me|Name|List|I need|Do you know] the capitals of {x}.
        Capitals of {x}[?|, please.|]
        The capital cities of {x}?
        What are the capital cities of {x}?
        Which cities are the capitals of {x}?
        [Can|Could] you [tell me|name] the capitals of {x}?
        What is the capital of {x}?
        * Please write down the capital cities of {x}.
        * {x}: what are their capitals?
        """
    ),
    grammar(
        """
        [What|Which city] is its capital?
        And its capital?
        [Tell me|Do you know] its capital[, too|].
        What is the capital there?
        * And the capital of that country?
        """
    ),
    "country",
    country_forms,
    no_country,
    OTHER_NAMES,
)
# A city may have the name of its country: the reverse question would contain its answer.
COUNTRY_OF = Relation(
    "capitals",
    {city: country for country, city in CAPITALS.items() if city != country},
    "{x} is the capital of {y}.",
    grammar(
        """
        [Which|What] [country|nation|state] has {x} as [its|the] capital? => [which|what] country has {x} as its capital
        {x} is the capital of [which|what] [country|nation|state][?|]
        {x} is [which|what] country's capital?
        [What|Which] country is {x} the capital [city|] of? => [what|which] country {x} is the capital of
        [Of|For] [which|what] [country|nation] is {x} the capital? => of [which|what] country {x} is the capital
        [Which|What] country's capital is {x}? => [which|what] country's capital is {x}
        [Which|What] [country|nation] is governed from {x}? => [which|what] country is governed from {x}
        {x} is the capital of[...|?| what?| ___|:| which?]
        {x} is [a|the] capital of where?
        {x}, [it is|which is|that is] the capital of [which country|what|what country][?|]
        {x} capital of[?| what?| which country?| which?]
        The capital of [which|what] [country|nation] is {x}?
        [Name|Tell me|Give me] the country [whose|with the] capital [is|is called] {x}.
        [Complete|Finish|Fill in]: {x} is the capital of[ ___.| ...|]
        [In|To] [which|what] country [does|do] the capital {x} [belong|lie]? => in which country the capital {x} lies
        [The|A] country [with|whose capital is] {x}[ as capital|]?
        [If|When] the capital is {x}, [which|what] is the country?
        My [flight|train|plane] goes to the capital {x}. Which country is that?
        What is {x} the capital of? => what {x} is the capital of
        * {x}: capital of which land?
        * [Which|What] land [calls|has made] {x} its capital?
        * [To which|For which] nation is {x} the capital city?
        """
    ),
    forms=lambda city: {"x": city},
    stranger=_no_capital,
    other_names=OTHER_CITY_NAMES,
)
CONTINENT_OF = Relation(
    "continents",
    CONTINENTS,
    "{x} is in {y}.",
    grammar(
        """
        [On|In] [which|what] continent is {x}? => [on|in] [which|what] continent {x} is
        [On|In] [which|what] continent [can I find|do you find|would I find|do we find] {x}?
        [On|In] [which|what] continent [is {x} located|does {x} lie]? => [on|in] which continent {x} lies
        [Which|What] continent is {x} [in|on|part of|located in|located on]? => [which|what] continent {x} is [in|on]
        [Which|What] continent [has|contains|includes] {x}? => [which|what] continent [has|contains|includes] {x}
        [To|] [which|what] continent does {x} belong [to|]? => [to|] [which|what] continent {x} belongs
        {x} is [on|in] [which|what] continent[?|]
        {x} [belongs to|is part of|lies on|lies in|is located on] [which|what] continent?
        {x} - [which|what] continent[?|]
        {bare} continent[?|]
        continent of {x}[?|]
        [which|what] continent {bare}[?|]
        Where in the world is {x}[?| located?]
        [What|Which] part of the world is {x} in?
        {x}, [on|in] [which|what] continent is it?
        If I [fly|travel|go] to {x}, [on|in] [which|what] continent am I?
        I [live in|am in|come from|am travelling to] {x}. [Which|What] continent is [that|it]?
        I am {adj}. [Which|What] continent do I come from?
        [Complete|Finish]: {x} is [in|on] the continent[ of| called| named|] ___.
        [Is|Does] {x} [in|lie in|belong to] [Europe, Asia or Africa|Asia or Europe|Africa or Asia|America or Africa]?
        [Which|What] continent [do|would] you [place|put|find] {x} [in|on]?
        [People from {x}|The {adj} people] live on [which|what] continent?
        * {x} can be found on [which|what] continent?
        * [Among|Of] the continents, which one [is {x} on|holds {x}]?
        * Say on what [part of the earth|landmass] {x} [lies|is].
        """
    ),
    grammar(
        """
        the continent of {x}
        the continent {x} is [in|on]
        the continent [that has|with] {x}
        {x}'s continent
        the continent where {x} [is|lies]
        the continent to which {x} belongs
        * the continent one finds {x} on
        """
    ),
    grammar(
        """
        On [which|what] continents are {x}?
        [Which|What] continents are {x} [in|on]?
        The continents of {x}?
        [Tell me|Name|Give me] the continents of {x}.
        * {x}: which continents?
        """
    ),
    grammar(
        """
        [On|In] [which|what] continent is [it|that|that country]?
        [And|] [which|what] continent is [it|that] [in|on]?
        And its continent?
        * Where in the world is that?
        """
    ),
    "country",
    country_forms,
    no_country,
    OTHER_NAMES,
)
RELATIONS = (CAPITAL_OF, COUNTRY_OF, CONTINENT_OF)
