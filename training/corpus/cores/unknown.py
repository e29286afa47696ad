"""Questions that the model cannot answer, in the very frames of those that it can.

Other facts about known things, private matters, what happens now or will happen, what was never true, open questions,
and requests that need a tool.
"""

from __future__ import annotations

from random import Random

from training.corpus.cores import animals, countries, impossible, nature, vocabulary
from training.corpus.cores.arithmetic import beyond
from training.corpus.cores.core import Core
from training.corpus.cores.false_deeds import false_deed
from training.corpus.cores.relation import grammar
from training.corpus.hedges import hedge
from training.corpus.phrasing import Phrasing, with_articles
from training.corpus.tables.animals import ANIMALS, plural
from training.corpus.tables.countries import ADJECTIVES, CAPITALS, OUTSIDE
from training.corpus.tables.nature import ELEMENTS
from training.corpus.tables.vocabulary import OPPOSITES
from training.corpus.tool_tables import everyday_request
from training.corpus.unknown import OPEN_QUESTIONS, TOPICS
from training.corpus.wording.sentence_frames import PHRASES
from training.corpus.words import COMMON, THINGS, any_city, any_name, new_word

KIND = "unknown"
OTHER_FACTS = grammar(
    """
    the [population|area|size|president|king|queen|flag|anthem|history|climate|prime minister|religion] of {x}
    the [number of people|number of cities|number of rivers|number of lakes|average income|best hotel] in {x}
    the [largest|biggest|oldest|smallest|second largest|nicest] [city|river|lake|mountain|island|region] [in|of] {x}
    {x}'s [population|area|president|flag|neighbours|national day|highest mountain|national dish|economy]
    the {adj} [flag|president|king|population|economy|national dish|army|football coach|word for {w}]
    the [mayor|population|airport|postcode|age|founder|area code|river|height|best restaurant] of {city}
    the [number of people|best museum|oldest church|cheapest hotel|time] in {city}
    the distance [from|between] {city} [to|and] {city2}
    the [lifespan|speed|weight|size|diet|habitat|Latin name|length|price|age|intelligence|food|enemy] of {animal}
    {animal}'s [weight|diet|habitat|scientific name|favourite food|top speed|length|heart rate]
    the number of [teeth|eyes|bones|toes|stomachs|hearts|young|species|stripes] of {animal}
    the [atomic number|atomic weight|melting point|boiling point|density|price|discoverer] of {element}
    {element}'s [atomic number|melting point|density|atomic mass|half-life]
    the [synonym|meaning|definition|origin|etymology|spelling|past tense|translation] of {word}
    the [French|German|Spanish|Latin|Japanese|Italian] word for {word}
    the [price|weight|inventor|length|brand|size|owner|history|smell|taste] of {thing}
    the [phone number|address|age|birthday|password|job|favourite song|height|shoe size|salary|middle name] of {name}
    {name}'s [phone number|address|age|birthday|password|job|wife|husband|email|favourite colour|car|secret]
    my [password|address|age|birthday|account balance|blood type|shoe size|phone number|favourite colour|mother's name]
    the [weather|temperature|time|date|news|traffic] [in {city}|in {city} today|right now|today|now|at the moment]
    the [price|value|share price|rate] of [gold|oil|the dollar|the euro|bitcoin|{W}|a litre of milk] [today|now|]
    the [winner|result|score] of the [match|election|race|game|final|cup] [today|yesterday|tomorrow|in {year}|of {year}]
    the [number of the winning ticket|lottery numbers|stock of tomorrow|next president|next prime minister of {x}]
    the [meaning|sense|purpose] of [life|everything|{w}|{word}]
    the [square root|capital|colour|sound|opposite] of {w}
    the [author|title|hero|first line|last word|plot] of {W} {V}
    the [author|director|composer|painter|singer] of [the book|the film|the song|the picture|] {W}
    the [best|worst|cheapest|newest|oldest|fastest|most famous] {w}
    the [best|worst|cheapest|newest|fastest] [phone|car|book|film|computer|restaurant in {city}|team|doctor]
    the [height|age|depth|length|location] of [{W}|the {W} tower|mount {W}|lake {W}|the river {W}]
    the [rules|history|basics|main ideas|inventor|future] of {topic}
    the [cause|effect|date|year] of the [{W} war|battle of {W}|{W} treaty|great {w}]
    the [number|name|colour|capital|symbol|plural|opposite] [I am thinking of|that I like best|of the day]
    the number of {w}s in a {v}
    the {w} of {W}
    the {w} of {x}
    the {w} of {animal}
    * the [neighbours|coastline|tax rate|mobile code|patron saint] of {x}
    * the [mother|enemy|skin|tail length|memory] of {animal}
    my [pin|PIN|pin code|wifi password|licence plate|shirt size|locker number|room number|username|bank balance|weight]
    my [brother's name|dog's name|mother's birthday|wife's name|best friend's name|boss's email|grandfather's \
    age|street]
    {name}'s [home address|salary|bank account|pin code|weight|best friend|girlfriend|boyfriend|street|diary|next \
    appointment]
    the [mobile number|home address|pin code|income|weight|diet|religion|wedding day] of [{name}|my neighbour|my boss]
    the name of [my first teacher|my mother|my dog|my street|{name}'s cat|my neighbour|{name}'s wife|the girl next door]
    the [colour|size|price] of my [socks|car|shirt|front door|bedroom|shoes|bag]
    the [number|amount] of [coins in my pocket|books on my shelf|people in my room|my grandchildren|emails I got today]
    the thing that [I had for breakfast|I am holding|my wife wants|{name} said to me|is in my bag|I forgot]
    * the [lawyer|diary|bank account|dentist] of {name}
    * the [isotopes|electron count|toxicity] of {element}
    """
)
SENTENCES = grammar(
    """
    [When|In which year|On which day] [was|did] [{W}|{city}|{x}|the {w}] [founded|built|destroyed|discovered]?
    [How many] people [live|work|died|were born] in [{city}|{x}|{W}] [today|in {year}|last year|]?
    [Who|Which party] [won|lost|will win] the [cup|election|war|race|match] [in|of] {year}?
    What [happened|will happen] in [{city}|{x}|{W}] [in {year}|yesterday|tomorrow|last week]?
    [Who|Tell me who] [is|was] {name} {W}?
    [Who|Tell me who] [is|was] {W} {V}?
    [What|Who] is [{W}|a {w}|the {w}|{w}]?
    [What|What exactly] does {w} mean?
    [How|Where|When] [can I|do I|should I] [buy|repair|sell|clean|find|cook] [a|my|the] {thing}?
    How [old|tall|rich|big|heavy] is {name} [{W}|]?
    [Where|When] was {name} [{W}|] born?
    Why [is|was|does] {city} [the capital of {x}|bigger than {city2}|so big|made of {thing}]?
    Why [is|are] [the opposite of {word}|the sky|{animal}|{x}|plants|the symbol of {element}] [so|like that|{word2}]?
    Why [do|did] {animals} [fly|swim|sing|speak|build {thing}|eat {thing}|live in {x}]?
    [Since when|Why] does {animal} have [seven|nine|eleven|twenty] legs?
    [When|Why] did {x} [become|stop being|join] [{W}|a continent|an animal|the moon|a kingdom|a {w}]?
    [Which|What] [animal|country|city|planet|element|colour] [is|do you think is] the [best|nicest|most {word}]?
    [Which|What] is [better|nicer|more useful|more expensive]: {thing} or {word}?
    [Should|Shall|May|Can] I [marry|visit|call|trust|fire|meet] {name}?
    [Should|Shall] I [buy|sell|eat|take|move to] [a|the] [{w}|{thing}|house|dog|car]?
    Where [did I put|are|is] my [keys|phone|glasses|bag|{thing}|wallet]?
    What did [{name}|I|my mother|my boss] [eat|say|do|buy|dream|write] [yesterday|this morning|last night|in {year}]?
    What [am I|is {name}|is my dog] [thinking|doing|wearing|holding|feeling] [of|now|right now|today]?
    What will [{name}|I|the weather|the price of {thing}|the world] [do|be|cost] [tomorrow|next year|in {year}]?
    Will [it rain|{name} come|I be rich|{x} win|the sun shine|prices rise] [tomorrow|next week|in {city}|in {year}]?
    [What time|What day|What date|Which day] is it [now|today|in {city}|in {x}|there|]?
    [Is|Are] [{name}|the shop|the bank|the train|my order|the {w}] [open|late|there|ready] [now|today|tomorrow|]?
    [How|Tell me how] [does|do] [a {w}|{topic}] work[?|]
    [Write|Compose|Draft] [a|an] [poem|essay|letter|program|song] [about|on|for] [{topic}|{thing}|{W}|{name}].
    [Explain|Describe|Summarise|Discuss] [{topic}|the {w}|{W}|the history of {city}|the economy of {x}][.|, please.]
    [Translate|Say|Put] [{word}|{w}|"{thing}"] [into|in] [French|German|Spanish|Latin|Greek|{W}][.|]
    [Prove|Show|Derive] [the {W} theorem|that {w} is {v}|the law of {topic}].
    [Draw|Paint|Show me] [a picture of|] [a|the] [{w}|{thing}|{word}].
    [Recommend|Suggest] [me|] [a|an] [book|film|restaurant in {city}|gift for {name}|name for my {animalword}].
    [What|Which] [word|animal|number|colour|country] am I thinking of?
    [Compare|What is the difference between] [{topic} and {topic2}|{w} and {v}|{city} and {city2}|{animal} and {thing}].
    What [comes|is] after [infinity|the end of the world|{w}|{name}|death|{city}]?
    What is the opposite of [a|the|my] {thing}?
    What is the capital of [a|my|the] [{thing}|{animalword}|{word}|moon|universe]?
    What [sound|noise] does [a|my|the] [{thing}|{element}|{word}] make?
    How many legs [does|has] [{x}|{city}|the sky|a {w}|the number seven|my {thing}] [have|got|]?
    [Which|What] symbol has [{animal}|{x}|love|the word {word}]?
    On which continent is [the moon|{name}|a {thing}|the sun|{w}]?
    What colour is [{name}|{name}'s car|my {thing}|{x}|the number {year}|the {w}]?
    How many [{thing}|{w}s|{animals}] are [there|] in [{x}|{city}|the world|a {w}|the sea]?
    [Is|Was] {name} [older|taller|richer|nicer] than {name2}?
    [Did|Does|Has] {name} [ever|] [visit|like|buy|own|call] [{x}|{thing}|{city}|me]?
    {W}
    {w} {v}
    {w} {v} {w}
    [asdf|qwerty|lorem ipsum|foo bar|blah blah|xyz|test 123] [{w}|]
    [Do|Did|Can] you [know|remember|guess|see|tell] [my|{name}'s] [age|password|address|birthday|surname|phone number]?
    [Where|When] [did|does] [{name}|my mother|my boss|my son|my neighbour] [go|live|work|park|sleep|study]?
    How much [does|did] [{name}|my boss|my neighbour|the mayor of {city}] [earn|weigh|spend|owe me]?
    How many [friends|children|cats|siblings|teeth|jobs] [do I|does {name}|does my teacher] have?
    [What|Which] [school|shop|bus|street|team] [do I|does {name}|does my brother] [go to|like|take|live in|play for]?
    [Who|Tell me who] [is|was] [my best friend|at my door|{name}'s father|my first teacher|on the phone|calling me]?
    [Why|When] [is|was] [{name}|my wife|my sister|my boss] [angry with me|so sad|late|in hospital|born|laughing]?
    [Is|Was] [{name}|my neighbour|my teacher|my boss] [married|rich|at home|ill|from {x}|angry|pregnant]?
    [Am I|Do I look] [pretty|old|tall|ill|married|rich|late|tired][?| today?| to you?]
    What [is|do I have] [in my hand|behind my back|in my pocket|under my bed|on my desk|in this box]?
    [How|Where] did [I|{name}|my parents] [meet|sleep|learn that|spend the summer|celebrate] [last year|in {year}|]?
    [Where|How] can I find [{name}|my glasses|my other {thing}|{name}'s {thing}|the man who lives here]?
    [Which|What] {thing} [did I|does {name}|should I] [buy|like best|wear|choose] [today|yesterday|]?
    [Read|Tell me|Show me] [my mind|my messages|{name}'s email|my diary|the letter on my desk|what I wrote][.|]
    * How [long|far] would {animal} [run|swim|travel] to [reach|see] {city}?
    * [Tell|Reveal to] me {name}'s [plans|secrets|thoughts].
    * [Who|What] was the [teacher|neighbour|boss] of {name} {W}?
    * If {city} were in {x}, who would [rule|own] it?
    * [Predict|Foresee] [the year {year}|the future of {topic}|the next {w}].
    """
)
OPEN = grammar("\n".join(OPEN_QUESTIONS[: len(OPEN_QUESTIONS) * 4 // 5]))


def _fillings(rng: Random) -> dict[str, str]:
    country = rng.choice(list(ADJECTIVES))
    animal = rng.choice(ANIMALS)
    return {
        "x": country if rng.random() < 0.7 else rng.choice((*CAPITALS, *OUTSIDE)),
        "adj": ADJECTIVES[country],
        "animal": f"{rng.choice(('a', 'the', 'my'))} {animal}",
        "animals": plural(animal),
        "animalword": animal,
        "element": rng.choice(list(ELEMENTS)),
        "word": rng.choice(list(OPPOSITES)),
        "word2": rng.choice(list(OPPOSITES)),
        "thing": rng.choice(THINGS if rng.random() < 0.7 else COMMON),
        "name": any_name(rng),
        "name2": any_name(rng),
        "city": any_city(rng),
        "city2": any_city(rng),
        "topic": rng.choice(TOPICS),
        "topic2": rng.choice(TOPICS),
        "t": rng.choice(TOPICS),
        "t2": rng.choice(TOPICS),
        "w": new_word(rng),
        "v": new_word(rng),
        "W": new_word(rng).capitalize(),
        "V": new_word(rng).capitalize(),
        "year": str(rng.randint(1500, 2090)),
    }


# Relations of which another value is plainly false.
_EXCLUSIVE = (
    countries.CAPITAL_OF,
    countries.CONTINENT_OF,
    nature.SYMBOL_OF,
    animals.YOUNG_OF,
    vocabulary.OPPOSITE_OF,
    vocabulary.PLURAL_OF,
)
_IMPOSSIBLE_RATE = 0.5


def unknown(rng: Random, held_out: bool = False) -> Core:
    if rng.random() < _IMPOSSIBLE_RATE:
        match rng.randrange(4):
            case 0:
                return impossible.false_premise(rng, _EXCLUSIVE, held_out)
            case 1:
                return impossible.nonsense(rng, held_out)
            case 2:
                return false_deed(rng, held_out)
            case _:
                return impossible.future(rng, held_out)
    draw = rng.random()
    if draw < 0.3:
        return beyond(rng, held_out)
    if draw < 0.36 and not held_out:
        return Core(KIND, everyday_request(Phrasing(rng, False)), hedge(rng), is_literal=True)
    if draw < 0.66:
        frame_is_new = held_out and rng.random() < 0.5
        phrase = OTHER_FACTS.say(rng, held_out and not frame_is_new)
        template = PHRASES.say(rng, frame_is_new).replace("{np}", phrase)
    elif draw < 0.76 and not held_out:
        template = OPEN.say(rng)
    else:
        template = SENTENCES.say(rng, held_out)
    text = with_articles(template.format(**_fillings(rng)))
    return Core(KIND, text[:1].upper() + text[1:], hedge(rng))
