"""Short instructions: list, repeat, count, uppercase."""

from __future__ import annotations

from random import Random

from training.corpus.argument_values import value_of
from training.corpus.cores.core import Core
from training.corpus.cores.relation import grammar
from training.corpus.instructions import LISTS, NUMBER_WORDS
from training.corpus.tables.numbers import in_words
from training.corpus.words import COMMON, any_city, any_name, any_sentence, any_word

LIST_FRAMES = grammar(
    """
    [List|Name|Give me|Tell me|Write|Write down|Show me|Say|Type|Enumerate|Present] {n} {x}[.|, please.||!]
    Please [list|name|give me|tell me|write|show me] {n} {x}.
    [Can|Could|Would|Will] you [list|name|give me|tell me|write|write down|show me] {n} {x}[?| please?]
    [What are|Which are] {n} {x}?
    [What are|Which are] [examples of {n} {x}|{n} examples of {x}]?
    [Give|Name|List|Tell|Show] [me|] {n} [examples of|sorts of|kinds of|different|common|well-known] {x}[.|, please.]
    I [need|want|would like|am looking for] [{n}|a list of {n}] {x}[.|, please.]
    {n} {x}[?|.|, please|, pls| please|]
    [A list of|List of|Examples of] {n} {x}[.|, please.|?]
    [Make|Write|Give me|Create] a [short|] list of {n} {x}[.|, please.]
    [Do you know|Can you think of|Can you remember|Do you have] {n} {x}?
    [Help me|I have] to [name|find|list] {n} {x}.
    Which {n} {x} [do you know|can you name|come to mind]?
    [Write|Name] {x}, {n} of them[.|, please.]
    {x}, {n} of them[.|, please.|]
    Some {x}, [exactly|just] {n}[.|, please.]
    For a quiz I [need|want] {n} {x}.
    [My son|My teacher|The task] [wants|asks for] {n} {x}.
    [Any|Got any|Know any] {x}? [{n} would do|{n} is enough|Name {n}|Give me {n}|{n}, please].
    [I can't think of any|I need|My list needs|We collect] {x}[.|,|:] [help me with|give me|tell me] {n}[.|, please.]
    [We play a game|It's my turn|In the quiz|For school]: {n} {x}[.|, please.|!|?]
    [My|Our] [son|class|teacher|homework|crossword] [needs|asks for|wants] {n} {x}[.|. Which?|. Help me.]
    [How about|What about|May I have|Could I get|Can I have] {n} {x}[?|, please?]
    [{n}|Exactly {n}|Just {n}|Only {n}] {x}[, nothing else.|, no more.|, no less.|.]
    [Give|Tell] me [the names of|names of] {n} {x}[.|, please.|]
    [Fill in|Complete] my list [of|with] {n} {x}[.|]
    [Which|What] are {n} {x} [everyone knows|that you know|people like|you would name]?
    [Mention|Recite|State|Suggest|Pick|Choose|Collect|Find] {n} {x}[.|, please.|]
    [I'm|I am|We are] [making|writing] a list of {x}[.|,|:] [give|tell|name] [me|us|] {n}[.|, please.]
    [There are|You know] many {x}[.|,|:] [name|tell me|give me|list] {n}[.|, please.| of them.]
    [Could|Can|Would|Will] you [give me|name|list|think of] [any|just|exactly|] {n} {x}[?|, please?| for me?]
    [What|Which] {n} {x} [can you think of|could I draw|would you name|do you remember|come to your mind|spring to \
    mind]?
    [I'd|I would] [like|love] [a list with|a list of|to hear|to have] {n} {x}[.|, please.|]
    [Give|Tell|Show] [us|the class|my son|my daughter] {n} {x}[.|, please.|]
    [My|Our] [daughter|kid|nephew|pupils|little one] [is learning|learns|must learn] {x}[.|:|,] [name|give us|tell \
    us] {n}[.|]
    [Let's|Let us] [name|list|collect] {n} {x}[.|, you begin.|!|]
    [Quiz|Game|Challenge|Task|Exercise]: [name|list|write|give] {n} {x}[.|!|]
    [Bet you can't|I bet you can|Try to|See if you can|Can you even] [name|list] {n} {x}[.|!|?]
    {x}: [give me|name|list|I need] {n}[.|, please.|!|]
    {x} - {n} [please|pls|of them|examples|][.|]
    [Hey|Hi|Hello|Ok|So|Now][,|] [name|list|give me|tell me] {n} {x}[.|, please.|]
    [What|Which] are {n} [kinds|sorts|examples|types] of {x}?
    Examples of {x}[, {n} of them|: {n}|, just {n}|, {n} please][?|.]
    [I'm|I am] looking for [the names of|] {n} {x}[.|, can you help?|. Which?]
    [For|On] my [list|poster|essay|homework] I [need|want|must write] {n} {x}[.|, please.|. Which ones?]
    [Not all|Not every one|No need for all], [just|only] {n} {x}[.|, please.]
    [Say|Name|List] {x}[.|,|;] {n} [are|will be|is] [enough|fine][.|, thanks.]
    If I [ask|asked] [for|you for] {n} {x}, [what|which] [do|would] you [say|name]?
    There [must be|are] [more than|at least] {n} {x}[.|,|:] [name|give me|tell me] {n}[.|, please.]
    * [Think of|Come up with] {n} {x}.
    * Let me hear {n} {x}.
    * [Provide|Supply] {n} {x} for my list.
    * I [would be happy|would be glad] to read {n} {x}.
    """
)
TIMES_FRAMES = grammar(
    """
    [Repeat|Say|Write|Type|Print|Output] [the word|] {x} {n} times[.|, please.|]
    Please [repeat|say|write|type] [the word|] {x} {n} times[.|]
    [Can|Could|Would] you [repeat|say|write|type] [the word|] {x} {n} times?
    {n} times [the word|] {x}[.|, please.]
    [the word|] {x}, {n} times[.|, please.]
    {x} {n} times[.|, please.|]
    I [want|need|would like] [the word|] {x} {n} times[.|, please.]
    [Say|Write|Repeat] {x} for me {n} times[.|]
    {n} times {x}, please.
    [Say|Write] {x} {n} times in a row[.|]
    [Let me hear|Give me|Show me] [the word|] {x} {n} times[.|]
    [I'd like|I would like|I want] you to [say|write|repeat|type] [the word|] {x} {n} times[.|, please.|]
    [Could|Can|Would|Will] you [please|] [put|print|output|give me] [the word|] {x} {n} times[?|, please?]
    [Print|Put|Chant|Shout|Spell out|Echo|Copy|Paste] [the word|] {x} {n} times[.|!|, please.|]
    [Write|Say|Type] {n} times [the word|] {x}[.|!|, please.|]
    [Write|Give me|I need] [a line with|one line with|a row of] {n} times {x}[.|]
    [My|The] [teacher|coach] [says I must|wants me to|makes me] [write|say] {x} {n} times[.|, do it for me.]
    How [does it look|does it sound] if [you|I] [write|say] {x} {n} times?
    [Can I|May I|I want to] [see|have|get] {x} {n} times[?|.|]
    [All together|Everybody|Come on|Now you]: {x}, {n} times[!|.]
    [Nothing but|Only|Just] {x}, {n} times[.|!|, please.]
    * Let the word {x} be [said|written] {n} times.
    * I want to [see|read] {x} [written|said] {n} times.
    """
)
ECHO_FRAMES = grammar(
    """
    [Repeat|Repeat after me|Say|Say after me|Copy|Copy this|Echo|Type|Write|Write this|Output|Print|Answer with]: {x}
    [Repeat|Say|Copy|Write|Type] [this|the following|these words|what I say|this text|this sentence]: {x}
    Please [repeat|repeat after me|say|copy|echo|write|type]: {x}
    Please [repeat|say|copy|write|type] [this|the following|these words|what I say|this text]: {x}
    [Can|Could|Would] you [repeat|say|copy|echo|write|type] [this|the following|these words|after me]: {x}
    I want you to [repeat|say|copy|echo|write] [this|the following|these words]: {x}
    [Just|Only|Simply] [repeat|say|copy|echo] [this|]: {x}
    [Give|Send] [me|] [this|these words|the following] back: {x}
    [Answer|Reply] [only with|with|with the words]: {x}
    Say exactly this: {x}
    echo {x}
    repeat {x}
    repeat after me {x}
    [Say|Repeat|Write|Type|Echo|Copy] [after|with] me[,|:] {x}
    [Now|Ok|So|Please|Kindly|Hey,|Right,] [say|repeat|write|echo|copy|type] [this|] [exactly|]: {x}
    [Repeat|Say|Write|Echo|Copy] exactly: {x}
    [Say|Write|Repeat|Type] [it|this] [exactly|just] [like this|as I do|as I wrote it|as it stands]: {x}
    [Write|Say|Repeat|Copy] [only|just|nothing but|no more than] [this|the following|these words]: {x}
    [Just|Simply|Only] [write|type|print|answer]: {x}
    [You|Your turn to] [say|repeat]: {x}
    [I'd like|I would like|I want|I need] you to [write|say|type|echo|print] [this|exactly this|the following|]: {x}
    [Will|Could|Would|Can] you [please|just|kindly] [say|repeat|echo|write]: {x}
    [Give|Write|Send|Say] me exactly [this|the following]: {x}
    [Your|The] [only|whole|full|next] [answer|reply|message] [is|must be|shall be|has to be]: {x}
    [Answer|Reply|Respond] with [exactly|only|nothing but] [this|these words|the following]: {x}
    [Text|Words|Sentence|Line|Phrase] to [repeat|copy|echo|say]: {x}
    [Take|Here is] [this|my] [text|line|sentence] and [repeat|copy|echo|say] it[ word for word|]: {x}
    [Let me|I want to] [see|hear|read] [you say|you write|you repeat|] [this|these words]: {x}
    Without [adding|changing] [a word|anything|a letter][,|:] [say|write|repeat]: {x}
    [say|write|type|print|copy] {x}
    [pls|plz|please] [say|write|repeat|echo|copy] {x}
    * [Read|Sing] this [back|back to me]: {x}
    * Your answer should be: {x}
    * I say something and you say it too: {x}
    """
)
OFTEN_FRAMES = grammar(
    """
    [Repeat|Say|Write|Type|Print|Output] [the word|] {x} {n}[.|, please.|]
    Please [repeat|say|write|type] [the word|] {x} {n}[.|]
    [Can|Could|Would] you [repeat|say|write|type] [the word|] {x} {n}?
    I [want|need|would like] [to hear|to see|to read|] [the word|] {x} {n}[.|, please.]
    [Let me hear|Give me|Show me] [the word|] {x} {n}[.|]
    [Just|Only|Simply] [say|write|repeat] {x} {n}[.|]
    [Chant|Shout|Echo|Copy|Print] [the word|] {x} {n}[.|!|, please.|]
    [Write|Say] {x} {n} [for me|in a row|please][.|]
    [Now|Hey,|Please,|Come on,] [say|write] {x} {n}[.|!]
    * {x} should [appear|be there] {n}.
    """
)
QUOTING_FRAMES = grammar(
    """
    [Repeat|Repeat after me|Say|Say after me|Copy|Echo|Type|Write|Output|Print|Answer with|Reply with][:|] "{x}"
    [Repeat|Say|Copy|Write|Type] [exactly|word for word|literally|] [this|the following|the sentence|the words|the \
    text][:|] "{x}"
    Please [repeat|repeat after me|say|copy|echo|write|type] [exactly|the words|the sentence|][:|] "{x}"
    [Can|Could|Would|Will] you [please|] [repeat|say|copy|echo|write|type] [the sentence|the words|the \
    text|exactly|] "{x}"?
    I [want|would like|need] you to [repeat|say|copy|echo|write] [the words|exactly|] "{x}"[.|, please.|]
    [Just|Only|Simply|Now] [repeat|say|copy|echo|write] "{x}"[.|, nothing else.|, no more.|]
    [What I say you say|Be my parrot|Be my echo|Be a parrot|Copy me|Say what I say|Follow my words|Echo mode]: {x}
    [Your|The] [answer|reply|output] [should be|must be|is] [exactly|only|just] "{x}"[.|]
    [Answer|Reply|Respond] [only|just|exactly|] with "{x}"[.|, please.|]
    [Repeat|Say|Write] '{x}'[.|, please.|]
    [Repeat|Say] [back to me|to me|for me|back]: {x}
    [Read|Say] aloud: {x}
    [Repeat|Copy|Write down|Type out] [exactly|word for word|letter for letter] [what follows|what I write|this]: {x}
    [The|My] [sentence|text|phrase] is "{x}"[.|,] [repeat|say|copy|echo] it[.|, please.|]
    "{x}" - [say it|repeat it|repeat that|say that|write it|copy that|echo it][.|, please.|]
    [Say|Tell me|Speak|Pronounce] [the word|the words|the sentence] "{x}"[.|]
    [Don't|Do not] [change|add] [a word|anything|a letter], [repeat|copy|say]: {x}
    [I say|When I say] "{x}"[,|:] you say [the same|it too|it back][.|]
    [Say|Write|Type|Print|Repeat] [exactly|only|just|nothing but|precisely] [the words|the text|the sentence|the \
    line|] "{x}"[.|]
    [Could|Can|Would|Will] you [please|just] [say|write|repeat|type] [exactly|word for word|] "{x}"[?| please?]
    [I'd like|I would like|I want|I need] [to hear|to read|you to say|you to type|you to print] "{x}"[.|, please.|]
    Let [it|the answer|your answer] [say|be|read] "{x}"[.|]
    [My|The] [test|boss|son|teacher] [wants|needs|expects] you to [say|write|answer|reply] "{x}"[.|]
    [What do you say if you|How do you] [repeat|echo|copy] "{x}"?
    [Read|Say] "{x}" [back|aloud|out loud|once][.|, please.|]
    [Write|Say] [it|this] with [the|] [same|exactly these] [letters|words]: "{x}"
    [Reply|Answer|Respond] "{x}" [and nothing else|and no more|only][.|]
    [Nothing else than|Just these words|Only this]: "{x}"
    [Open your mouth and|Be nice and|Come on,|Now,] say "{x}"[.|!|]
    [Echo|Print|Output|Return|Display] the [string|text|line|words] "{x}"[.|]
    * [Parrot|Mirror|Mimic][:|] "{x}"
    * [Give|Hand] me "{x}" [back|again][.|]
    """
)
SAYINGS = grammar(
    """
    [Hello|Good morning|Good night|Hi|Welcome|Thank you|Happy birthday], [{name}|world|my friend|everyone][!|.|]
    [Hello|Hi|Good] [World|{name}|There][!|]
    My name is {name}[.|]
    [I|We|They] [love|like|see|need|want|paint] [the|a|my|your] {a}[.|!|]
    [The|A|My|This] {a} [is|was|looks] [blue|small|old|nice|quiet|on the {b}|in the {b}|next to the {b}][.|!|]
    [{name}|The {a}] [sleeps|runs|sings|sits|waits|swims] [in|by|under|near] [the {b}|{city}][.|]
    [I have|There are|We found|{name} has] {n} [apples|birds|books|stones|cups][.|]
    [Where|What] is the {a}?
    [Practice makes perfect|All is well|See you soon|Time flies|Long live the {a}|No {a}, no {b}][.|!|]
    [Red|Green|Blue] {a}, [red|green|blue] {b}[.|]
    [One|Two], [two|three], {a}[.|!|]
    I am [not|] [a|the] {a}[.|!|]
    [Today|Tomorrow|On Monday] [we|I] [travel|go|drive] to {city}[.|]
    """
)
COUNT_FRAMES = grammar(
    """
    [Count|Please count|Now count|Just count] from {a} [to|up to|until|till] {b}[.|, please.|]
    [Can|Could|Would|Will] you count from {a} [to|up to|until|till] {b}[?| please?]
    [List|Give me|Write|Say|Tell me|Name|Show me|Type|Print] [all|] [the|] numbers from {a} [to|up to|until] {b}[.|]
    [List|Give me|Write|Say|Show me] the numbers between {a} and {b}, both included[.|]
    [The|All] numbers from {a} to {b}[.|, please.|]
    Numbers {a} to {b}[.|, please.|]
    {a} to {b}, count[.|, please.]
    I [want|need|would like] [to hear|to see|] the numbers from {a} to {b}[.|]
    Start [at|with|from] {a} and count [to|up to|until] {b}[.|]
    Begin [at|with] {a} and stop at {b}[.|, counting.]
    count {a} to {b}
    count {a}-{b}
    Which numbers [are there|come] from {a} to {b}?
    [Teach|Help] me to count from {a} to {b}[.|]
    * Go through the numbers from {a} until you [are at|reach] {b}.
    * Let's count: begin with {a}, end with {b}.
    * Which numbers do I say if I count from {a} up to {b}?
    """
)
COUNT_TO_FRAMES = grammar(
    """
    [Count|Please count|Now count|Just count|Can you count|Could you count] [to|up to|until|till] {b}[.|?|]
    [Count|Please count] from [1|one] [to|up to|until|till] {b}[.|, please.|]
    [List|Give me|Write|Say|Tell me] the [first {b} numbers|numbers up to {b}|numbers from 1 to {b}][.|]
    count {b}
    count to {b} [for me|please|pls]
    I [want|would like] you to count to {b}[.|]
    [Show|Prove] [me|] that you can count to {b}[.|]
    * [Go|Carry on] counting till {b} is reached.
    * Up to {b}, please count.
    """
)
UPPERCASE_FRAMES = grammar(
    """
    [Write|Put|Print|Type|Say|Spell|Show|Give me|Set] {x} in [uppercase|upper case|capital letters|capitals|caps][.|]
    [Write|Put|Print|Type|Give me|Set] {x} in [all caps|all capitals|block letters|big letters|large letters][.|]
    [Write|Put|Type|Spell] [the word|the words] {x} in [uppercase|upper case|capital letters|capitals|all caps][.|]
    [Turn|Change|Convert|Transform] {x} [to|into] [uppercase|upper case|capital letters|capitals|caps][.|]
    [Make|Get] {x} [uppercase|upper case|all caps|capital|all capitals][.|, please.|]
    [Uppercase|Capitalise|Capitalize|Upcase] {x}[.|, please.|]
    [Uppercase|Capitalise|Capitalize] [this|the word|the following|all letters of]: {x}
    [Can|Could|Would] you [write|put|type|say] {x} in [uppercase|capital letters|capitals|all caps|caps][?|, please?]
    [Can|Could|Would] you [uppercase|capitalise|capitalize] {x}[?|]
    [Can|Could|Would] you [turn|convert|change] {x} [to|into] [uppercase|capital letters|caps][?|]
    Please [write|put|type] {x} in [uppercase|upper case|capital letters|capitals|all caps][.|]
    Please [uppercase|capitalise|capitalize] {x}[.|]
    {x} in [uppercase|upper case|capital letters|capitals|all caps|caps|block letters][?|.|, please.|]
    {x} [uppercase|upper case|to uppercase|to upper case|in caps please]
    [uppercase|upper case|caps|capital letters|all caps]: {x}
    [How|What] does {x} look [like|] in [uppercase|capital letters|capitals|all caps]?
    [How|What] is {x} in [uppercase|capital letters|capitals|all caps]?
    What is the [uppercase|upper case|capital] [form|version|spelling] of {x}?
    I [need|want|would like] {x} in [uppercase|upper case|capital letters|capitals|all caps|caps][.|, please.]
    All [letters|the letters] of {x} [as capitals|in capitals|big|should be capital][.|, please.]
    [Shout|Yell] {x} [in capital letters|in capitals|in caps][.|!|]
    No small letters: write {x}[.|]
    [Replace|Change] the small letters of {x} [by|with|to] [capital|big] [ones|letters][.|]
    * [Let|Have] {x} appear in [capitals|uppercase] only.
    * With [capital letters|capitals] only, write {x}.
    * Show {x} with every letter big.
    * Press caps lock and type {x}
    """
)


# Other names of the kinds that are listed.
LIST_NAMES = {
    "fruits": ("pieces of fruit", "types of fruit", "kinds of fruit", "fruit"),
    "animals": ("beasts", "kinds of animal", "creatures"),
    "colours": ("colors", "colour names"),
    "vegetables": ("veggies", "kinds of vegetable", "veg"),
    "birds": ("kinds of bird", "bird species", "types of bird"),
    "cities": ("big cities", "city names", "famous cities"),
    "countries": ("nations", "states of the world", "lands"),
    "sports": ("kinds of sport", "types of sport", "sport disciplines"),
    "drinks": ("beverages", "things to drink"),
    "trees": ("kinds of tree", "types of tree", "tree species"),
    "flowers": ("kinds of flower", "blossoms", "garden flowers"),
    "instruments": ("musical instruments", "music instruments"),
    "tools": ("tools for the house", "hand tools"),
    "shapes": ("geometric shapes", "forms"),
    "insects": ("bugs", "kinds of insect"),
    "fish": ("kinds of fish", "fishes", "types of fish"),
    "clothes": ("pieces of clothing", "items of clothing", "things to wear", "garments"),
    "days": ("days of the week", "weekdays"),
    "months": ("months of the year",),
    "planets": ("planets of the solar system",),
}


def _number(rng: Random, number: int) -> str:
    return str(number) if rng.random() < 0.4 else NUMBER_WORDS[number]


def _sentence(template: str, **values: str) -> str:
    text = template.format(**values)
    first = text.split(" ", 1)[0]
    return text if first in values["x"].split() else text[:1].upper() + text[1:]


def lists(rng: Random, held_out: bool = False) -> Core:
    name, number = rng.choice(list(LISTS)), rng.randint(2, 5)
    said = rng.choice(("a couple of", "a pair of")) if number == 2 and rng.random() < 0.2 else _number(rng, number)
    asked = rng.choice(LIST_NAMES.get(name, (name,))) if rng.random() < 0.25 else name
    text = LIST_FRAMES.say(rng, held_out).format(n=said, x=asked)
    return Core("list", text[:1].upper() + text[1:], ", ".join(LISTS[name][:number]), (name,))


# The kinds of everyday texts that are repeated.
_ECHOED_KINDS = ("statement", "statement", "errand", "item", "occasion", "title", "foreign", "dish", "noun")


def _echoed(rng: Random) -> str:
    """Words in any order, or a sentence with its capitals and marks."""
    draw = rng.random()
    if draw < 0.2:
        return any_sentence(rng)
    if draw < 0.45:
        return str(value_of(rng.choice(_ECHOED_KINDS), rng))
    if draw < 0.65:
        return " ".join(any_word(rng) for _ in range(rng.randint(1, 7)))
    text = SAYINGS.say(rng).format(
        a=rng.choice(COMMON), b=rng.choice(COMMON), name=any_name(rng), n=rng.randint(2, 99), city=any_city(rng)
    )
    return text.upper() if rng.random() < 0.06 else text


def repeat(rng: Random, held_out: bool = False) -> Core:
    if rng.random() < 0.4:
        word, number = any_word(rng), rng.randint(2, 5)
        if rng.random() < 0.25:
            word = rng.choice((word.capitalize(), word.upper(), f"{word} {any_word(rng)}"))
        if rng.random() < 0.15:
            number, times = rng.choice(((1, "once"), (2, "twice"), (2, "two times"), (3, "thrice")))
            text = _sentence(OFTEN_FRAMES.say(rng, held_out), x=rng.choice((word, f'"{word}"')), n=times)
            return Core("repeat", text, " ".join([word] * number), (word,), is_literal=True)
        quoted = rng.choice((word, word, word, f'"{word}"', f"'{word}'"))
        text = _sentence(TIMES_FRAMES.say(rng, held_out), x=quoted, n=_number(rng, number))
        return Core("repeat", text, " ".join([word] * number), (quoted,), is_literal=True)
    words = _echoed(rng)
    if rng.random() < 0.35:
        text = QUOTING_FRAMES.say(rng, held_out).format(x=words)
        return Core("repeat", text[:1].upper() + text[1:], words, tuple(words.split()), is_literal=True)
    text = ECHO_FRAMES.say(rng, held_out).format(x=words)
    return Core("repeat", text[:1].upper() + text[1:], words, tuple(words.split()), is_literal=True)


def count(rng: Random, held_out: bool = False) -> Core:
    first = 1 if rng.random() < 0.4 else rng.randint(0, 20)
    last = first + rng.randint(2, 9)
    frames = COUNT_TO_FRAMES if first == 1 and rng.random() < 0.5 else COUNT_FRAMES
    is_in_words = rng.random() < 0.3
    a, b = (in_words(first), in_words(last)) if is_in_words else (str(first), str(last))
    text = frames.say(rng, held_out).format(a=a, b=b)
    return Core("count", text, ", ".join(str(number) for number in range(first, last + 1)))


def uppercase(rng: Random, held_out: bool = False) -> Core:
    words = " ".join(rng.choice(COMMON) for _ in range(rng.choice((1, 1, 1, 2))))
    quoted = rng.choice((words, words, words, f'"{words}"', f"'{words}'"))
    text = _sentence(UPPERCASE_FRAMES.say(rng, held_out), x=quoted)
    return Core("uppercase", text, words.upper(), tuple(quoted.split()), is_literal=True)
