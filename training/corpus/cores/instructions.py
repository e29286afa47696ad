"""Short instructions: list, repeat, count, rhyme, uppercase."""

from __future__ import annotations

from random import Random

from training.corpus.cores.core import Core
from training.corpus.cores.relation import Relation, grammar
from training.corpus.instructions import LISTS, NUMBER_WORDS, RHYMES
from training.corpus.tables.numbers import in_words
from training.corpus.words import COMMON, any_city, any_name, any_sentence, any_word, new_word

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


def _echoed(rng: Random) -> str:
    """Words in any order, or a sentence with its capitals and marks."""
    draw = rng.random()
    if draw < 0.3:
        return any_sentence(rng)
    if draw < 0.6:
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


RHYME_OF = Relation(
    "rhyme",
    {word: rhyme.capitalize() for word, rhyme in RHYMES.items()},
    "{y} rhymes with {x}.",
    grammar(
        """
        [What|Which word|What word] rhymes with {x}? => [what|which word] rhymes with {x}
        [What|Which word|What word] [does {x} rhyme with|has a rhyme with {x}]? => what {x} rhymes with
        What is a [good|simple|] rhyme [for|with|to|on] {x}?
        [Give|Tell|Find|Show] me [a word that rhymes|something that rhymes|a word rhyming] with {x}[.|, please.|]
        [Find|Name|Say|Tell me|Think of] a word [that rhymes|which rhymes|rhyming] with {x}[.|, please.]
        [Give|Tell|Find] me a rhyme [for|with|to|on] {x}[.|, please.|]
        [Can|Could] you [find|name|tell me|give me] a [rhyme for|word that rhymes with|rhyme on] {x}?
        [Do you know|Is there|Can you think of] a [rhyme for|word that rhymes with|rhyme on] {x}?
        I need a [rhyme for|word that rhymes with|rhyme on] {x}[.|, please.]
        {x} rhymes with[...|?| what?| which word?| ___|]
        rhyme [for|with|on|to] {x}[?|]
        {x} rhyme[?|s?]
        word that rhymes with {x}
        words rhyming with {x}
        [Rhyme|Make a rhyme] with {x}[.|, please.]
        I write a [poem|song] and the line ends with {x}. What [rhymes|fits]?
        [What|Which word] [sounds|ends] like {x}?
        {x} and[...|?| what?] [They must rhyme.|It should rhyme.]
        * For my poem: what goes with {x}?
        * [Which word|What] has the same ending sound as {x}?
        * Can anything be rhymed with {x}?
        """
    ),
    grammar(
        """
        a rhyme [for|with|to|on] {x}
        a word that rhymes with {x}
        a word rhyming with {x}
        * a good end rhyme for {x}
        """
    ),
    stranger=lambda rng: new_word(rng),
)
