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
    [Why|How come] does everybody [say|think|believe|know] that {np} is {y}?
    [Why|How come] do [people|so many people|they|books|pupils] [say|think|claim|believe|learn] that {np} is {y}?
    [How long|For how long|Since what year|Since which year] has {y} been {np}?
    How did {y} [get to be|come to be|end up as|manage to become|turn into] {np}?
    [What|Which event|Which war|Which decision] [led to|caused|is behind] {y} being {np}?
    What [is|was] the [reason|cause] [that|why] {np} is {y}?
    [What's|What is] the [reason|logic|idea|explanation|history] behind {np} being {y}?
    Isn't it [strange|funny|odd|weird|great] that {np} is {y}[? Why is that?|? How come?|, and why is it so?]
    [As|Since|Because|Seeing that|Knowing that] {np} is {y}, [why does nobody say so|how come they chose it|why is it \
    so]?
    [My|Our] [book|teacher|friend|dad|brother|mum|app] [says|told me|explained that|claims] {np} is {y}[. Why?|. How \
    come?|, \
    but why?|. Why is that?|. Since when?]
    [I|We] [read|heard|learned|saw|just found out] that {np} is {y}[. Why is that?|. How did that happen?|. What's the \
    reason?|. Since when?|. Why exactly?]
    {y} is {np}, [but why|so why|but since when|but how come]?
    [Can|Could|Would] you [explain|tell me|say] [how|why] {y} [became|came to be] {np}[?|, please?| to me?]
    [Give|Tell|Name] me [a|the|one good] reason why {np} is {y}[.|, please.]
    [Who|Which people|Which king] [made|declared|named|wanted] {y} {np}?
    Has {y} always been {np}[?|, or only lately?|, and if so, why?]
    How [proud|happy|surprised] are people that {np} is {y}?
    Why [did they|would they|would anyone] [choose|pick|take] {y} as {np}?
    What was {np} before it [was|became|turned into] {y}?
    What [changed|happened] [when|after] {np} became {y}?
    [Does it have to do with|Is it because of] [the weather|a king|history|money|the sea] that {np} is {y}?
    [Tell me|Explain|Write] [more|something|a bit] about how {np} [became|turned into|got to be] {y}[.|]
    [Do you know|Can anyone say|Does anyone know|Any idea] why {np} is {y}?
    [So|Ok|Hm|Wait], {np} is {y}[, why though?|, but how come?|. Why?|. Since when?]
    why is {y} {np}
    how come {y} is {np}
    [We|I] [all|] know that {np} is {y}[, but why|. But why|, so why is that|. What I don't get is why]?
    It is a fact that {np} is {y} - [why|who decided that|since when]?
    [What would|What will] [change|happen] if {np} [stopped being|was no longer] {y}?
    Whose [idea|decision|fault] was it that {np} is {y}?
    Please [remind me|tell me|explain] [why|when|how] {y} [became|was made] {np}[.|?|]
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
    How many {things} [make|equal|are in] [a|one] {day}?
    [Which|What] [day|colour|number] is the {thing} [married to|afraid of|dreaming about|friends with]?
    What [time|year|age] is it [in|inside] [a|the|my] {thing}?
    [Why|When] did the {thing} [divorce|arrest|forgive|vote for|outlive] [the {word}|{colour}|{day}]?
    [How|Where] do I [fold|boil|peel|iron|plant|charge|tickle] [{day}|a {colour}|the number {n}|a \
    thought|silence|{country}]?
    [How many|Which] [grams|metres|litres] of {colour} [are|fit] in [{day}|a {thing}|the number {n}|{country}]?
    What is the [postcode|speed limit|shoe size|birthday|surname|taste] of [{colour}|{day}|the number {n}|a \
    {thing}|laughter]?
    What is the [opposite|plural|capital|colour|sound] of [what the {thing} said|a {colour} {day}|{n} {things}]?
    What is the [square root|double|half] of [{colour}|{day}|a {thing}|{country}|happiness]?
    [Who|What] is the [mayor|grandmother|teacher|owner|wife] of [{day}|{colour}|the number {n}|a {thing}]?
    How [married|boiled|Tuesday|awake|salty|green|wooden] is [{n}|{day}|the letter k|my {thing}|silence]?
    [Which|What] [letter|number|colour] [smells|tastes|sleeps|swims|cries] [best|loudest|longest|most]?
    [Is|Was] {day} [heavier|wetter|rounder|cheaper] than [{colour}|a {thing}|{country}|the letter q]?
    [Is|Are] [the number {n}|{colour}|{day}] [edible|married|left-handed|made of {thing}s|asleep]?
    [Do|Can] {things} [prefer|remember|understand|dream of] [{day}|{colour}|{country}|the number {n}]?
    [Does|Did] [{colour}|{day}|the {thing}] [snore|vote|pay rent|have a driving licence|like {country}]?
    [How far|How long] is it from {colour} to {n}?
    [How far|How long] is it from {day} to [the {thing}|{colour}|{country}]?
    [What|How much] do you get if you [divide|multiply|add|boil] {country} [by|with|and] {n} {things}?
    [What|Which {thing}] comes [before|after|between] {colour} and {n}?
    [What|Which] [shape|weight|flavour|temperature] has [{day}|a promise|the word {word}|{n}|yesterday's {thing}]?
    [Where|When] [was|were] [{colour}|the number {n}|{n} {things}|{day}] [born|baptised|elected|cooked]?
    [If|When] {day} is a {thing}, [what is|how old is|where is] {colour}?
    If {n} {things} are {colour}, [why|how|when] does {country} sleep?
    [If|Suppose] [my|the] {thing} [eats|marries|paints] {n} {things}[,|.] [what colour is {day}|how loud is {country}]?
    [Translate|Say] [the {thing}|the smell of {word}|{n} minus {colour}] in {colour}[.|]
    [Spell|Count|Sort|Rhyme] the [silence|taste|smell|weight] of [{day}|{colour}|a {thing}|{n}][.|]
    [Name|List|Tell me] [the|three] [colours|corners|children|legs] of [{day}|the number {n}|silence|the word \
    {word}][.|]
    [Please|] convert {n} [{things}|{day}s] [to|into] {colour}[.|]
    [How many|Count the] {things} [can|could] [a dream|{day}|the colour {colour}|the letter c] [eat|carry|sing]?
    why is a {thing} when it [sings|spins|is {colour}|sleeps]
    [{colour}|{n}] {things} [or|and] [{day}|{country}], which is [louder|more honest|less {colour}]?
    Which {thing} [won|lost|invented] [{colour}|{day}|the number {n}]?
    [What|How] [did|does] the {thing} say to {n}, and why {colour}?
    When will {colour} be [{n}|{day}|a {thing}|bigger than {n}]?
    What is the currency of [a {thing}|{colour}|{day}|my {word}]?
    [Which|What] [animal|element|planet] is [the square of {n}|made by {day}|between {colour} and {day}]?
    [Which|What] month has the most [{things}|{colour}|elbows|opinions]?
    My {thing} is {n} [Mondays|kisses|colours] old. [Is that {colour}|How {colour} is it|Why]?
    The {thing} [walks into|asks|calls] {day}. [What colour is the answer|How many {things} is that|Who is {n}]?
    [Can you|Please] [draw me a sound|sing a triangle|weigh my name|smell the number {n}][?|.|]
    [How|Why] {colour} [can|does] a {word} [run|think|be] on a {day} of {n}?
    Does the [north|inside|end] of {colour} [contain|like|know] {n}?
    [{day}|{colour}] times {thing} [is|equals|makes] [what|how much]?
    {thing} {n} {colour} {day}[?|]
    [what|why|who] {thing} [of|than|because] {word} [the|is] {colour}[?|]
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
    [Who|Which party|Which candidate] [is going to|will] win the [next|coming|{future}] election in {country}?
    [Who|Which country|Which club] [is going to win|will take home|wins] the [World Cup|cup|title|Olympics|race] [in \
    {future}|next year|next summer]?
    [How|What] [is the weather going to be|will it be like outside] [next {day}|in a week|a month from now|on New \
    Year's \
    Eve]?
    [Do|Should] I [need|take|pack] [an umbrella|a coat|sunglasses] [next {day}|in three weeks|for my trip in {future}]?
    Will there be [snow|a storm|rain|fog|frost] [at Christmas|next winter|next {day}|in {future}]?
    [What|How much] will [petrol|a coffee|rent|a flat in {city}|a loaf of bread|electricity] [cost|be] [next year|by \
    {future}|in five years|when I am old]?
    Will [prices|house prices|shares|taxes] [rise|go up|go down|fall] [next year|in {future}|next month]?
    [How|Where] will [I|we|{name}|my family|people] [live|be|work|travel|stand] in [{future}|ten years|20 years|fifty \
    years]?
    [When|In what year] will [cars fly|we land on Mars|robots do all the work|people live on the moon|{country} win \
    the cup]?
    [When|At what age] will I [die|get married|become rich|have children|meet my husband|retire]?
    [How many|What number of] [children|friends|houses|wives|cats] will [I|{name}|my sister] have [one day|in \
    {future}|]?
    [Am I|Is {name}|Are we] going to [pass|win|get the job|be famous|fall in love|be happy] [next {day}|next \
    year|soon|]?
    [What|Which] [song|film|book|game|phone] will be [number one|the best|a hit|popular] [in {future}|next summer|next \
    year]?
    Who will come after the [president|king|champion|mayor] [of {country}|in {city}]?
    [What|Which] [number|card|horse|team|colour] [comes|will come|wins|will win] [next|tomorrow|at the casino|in the \
    lottery]?
    [Tell|Show|Read] me [my future|my fortune|the future of {country}|what will happen to {name}|tomorrow's weather][.|]
    [What|Tell me what] [am I going to|will I] [dream|eat|earn|do|become|get for my birthday] [tomorrow|next {day}|in \
    {future}|when I grow up]?
    Will [humanity|the earth|{country}|{city}|the internet] still exist in {future}?
    [Who|What] [rules|will rule|leads] [the world|{country}|{city}] in {future}?
    [How many|What number of] people [will there be|are there going to be] [on earth|in {country}|in {city}] in \
    {future}?
    [How|What] will [the stock market|gold|the euro|the dollar|my shares] do [tomorrow|next week|next {day}|in \
    {future}]?
    [What time|When] will [{name}|my bus|the parcel|my wife|the plumber] [come|arrive|call|be here] [tomorrow|next \
    {day}]?
    [What|Which] [inventions|diseases|jobs|languages|animals] will [there be|exist|disappear|be forgotten] [by|in] \
    {future}?
    [A look|One look] into the [crystal ball|future]: [who wins the election|what happens in {future}|will I be rich]?
    [Give|Make] me a [forecast|prediction|horoscope] for [{future}|next {day}|next year|{country}|{name}][.|, please.|]
    [lottery numbers|weather|winner of the cup|stock prices|news] [for|of] [next {day}|{future}|tomorrow][?|]
    [Which|What] [team|country] [goes|will go] home first [in|at] the [cup|World Cup|games] of {future}?
    [I bet|I guess|I hope] [{country}|{name}|our team] [wins|will win] [next {day}|in {future}]. [Who will it be|Am I \
    right|Will it happen]?
    [By|In] {future}, [will we all speak one language|will there be schools|how hot will it be|who will be the \
    richest man]?
    Will [tomorrow|next {day}|{future}] be [a good day|better than today|warm|a good year for {country}]?
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
