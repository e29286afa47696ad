"""Short instructions: list, repeat, count, rhyme, uppercase."""

from __future__ import annotations

from random import Random

from training.corpus.cores.core import Core
from training.corpus.cores.relation import Relation, grammar
from training.corpus.instructions import LISTS, NUMBER_WORDS, RHYMES
from training.corpus.tables.numbers import in_words
from training.corpus.words import COMMON, any_sentence, any_word, new_word

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


def _number(rng: Random, number: int) -> str:
    return str(number) if rng.random() < 0.4 else NUMBER_WORDS[number]


def _sentence(template: str, **values: str) -> str:
    text = template.format(**values)
    first = text.split(" ", 1)[0]
    return text if first in values["x"].split() else text[:1].upper() + text[1:]


def lists(rng: Random, held_out: bool = False) -> Core:
    name, number = rng.choice(list(LISTS)), rng.randint(2, 5)
    text = LIST_FRAMES.say(rng, held_out).format(n=_number(rng, number), x=name)
    return Core("list", text[:1].upper() + text[1:], ", ".join(LISTS[name][:number]), (name,))


def repeat(rng: Random, held_out: bool = False) -> Core:
    if rng.random() < 0.4:
        word, number = any_word(rng), rng.randint(2, 5)
        quoted = rng.choice((word, word, word, f'"{word}"', f"'{word}'"))
        text = _sentence(TIMES_FRAMES.say(rng, held_out), x=quoted, n=_number(rng, number))
        return Core("repeat", text, " ".join([word] * number), (quoted,), is_literal=True)
    words = any_sentence(rng) if rng.random() < 0.4 else " ".join(any_word(rng) for _ in range(rng.randint(1, 7)))
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
