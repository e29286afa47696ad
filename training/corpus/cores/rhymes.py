"""Rhymes: a word that rhymes with another, also chosen from two."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

from training.corpus.cores.core import Core
from training.corpus.cores.relation import Relation, grammar
from training.corpus.tables.rhymes import RHYMES
from training.corpus.words import new_word

CHOICE_RATE = 0.12
_QUOTED_RATE = 0.18
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
        [What|Which word] [would|could|can|might] [I|you|we] [rhyme|use to rhyme] with {x}? => what [I|you] could \
        rhyme with {x}
        [What|Which] [words|other words] rhyme with {x}? => [what|which] words rhyme with {x}
        [Name|Tell me|Say|Give me|I want] [anything|something|one thing|any word] [that|which] rhymes with {x}[.|, \
        please.|!]
        [My|The] [poem|song|verse|line|rap|birthday card] [ends in|ends with|needs a rhyme for|wants a rhyme with] \
        {x}[.|. What \
        rhymes?|. Help me.|, any rhyme?]
        I['m| am] [writing|making] a [poem|song|rap|verse|card] [and|, I] need [a rhyme for|something to rhyme with|a \
        word \
        rhyming with] {x}[.|, please.|]
        I [can't|cannot|could not] [find|think of] [a rhyme for|anything that rhymes with|a word to go with] {x}[.|, \
        can you?|. Help.]
        [Roses are red and|Dear poet,] [I look for|I need] a rhyme [for|with|on] {x}[.|!]
        [Got a rhyme|Have you got a rhyme|Any rhyme|Any rhymes|Got any rhymes] [for|with|on] {x}?
        [If|When] [a|the|my] line ends [with|in|on] {x}, [what|which word] [rhymes with it|can end the next|comes \
        next|should the \
        next line end with]?
        [Something|Anything|A word|One word] [rhyming with|that rhymes with|to rhyme with] {x}[?|.|, please.|, pls]
        [rhyme|rhymes|rhyming word|rhyming words] [{x}|for {x}|of {x}|with {x}][?|]
        find [a|me a|] rhyme {x}
        [Let's rhyme|Rhyme time|Rhyme game|We play rhymes|Rhyming game|We are rhyming]: {x}[.|!|?|]
        [I say|My word is|Your word is|The word is|Take] {x}[,|.|:] [you say a rhyme|what rhymes|rhyme it|which word \
        rhymes|now you]\
        [.|?]
        What [sounds|ends] [the same as|similar to|just like] {x}? => what sounds the same as {x}
        [What|Which word] [has|shares] the same [ending|sound at the end] as {x}? => which word has the same ending \
        as {x}
        {x} [and what|with what|goes with what|pairs with what word] [rhyme|rhymes]?
        {x}, [what rhymes|any rhymes|a rhyme please|rhyme please|which word rhymes with that|what rhymes with it]?
        {x} - [rhyme|rhymes with|a rhyme]?
        The word {x}[:|,] [what rhymes with it|do you have a rhyme|rhyme it|find a rhyme for it][?|.]
        [Can|Could|Would|Will] you [please|] [rhyme|find a match that rhymes with|make a rhyme with|make a rhyme for] \
        {x}?
        [My|Our] [son|daughter|class|pupil] [needs|looks for|wants] [a rhyme for|a word that rhymes with|rhymes for] \
        {x}[.|. Which one?|]
        [Is there a word that rhymes|Are there words that rhyme|Are there any rhymes] with {x}?
        [There must be|I need|I want] a word [ending like|that ends like|sounding like] {x}[.|, which one?|. Which?]
        [Help|Please help|Help me] [to|] [rhyme|find rhymes for|make rhymes with] {x}[.|!|]
        Which word would a [poet|singer|rapper|child] rhyme with {x}?
        I don't want a synonym, I want a rhyme for {x}[.|!]
        Not the opposite of {x}[,|:] a [rhyme|word that rhymes][.|!|, please.]
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
        a [good|nice|simple|fitting|funny|perfect] rhyme [for|with] {x}
        [one|any] word [that rhymes|which rhymes|to rhyme] with {x}
        something [that rhymes with|rhyming with|to rhyme with] {x}
        {x}'s rhyme
        the rhyme [for|of|to] {x}
        a [rhyming word|rhyme word] for {x}
        * a good end rhyme for {x}
        """
    ),
    stranger=lambda rng: new_word(rng),
)
# {a} and {b} are words of which one rhymes with {x}.
CHOICES = grammar(
    """
    [Which|What|Which word|What word] rhymes with {x}[:|,] {a} or {b}?
    [Which|What] [one|] [of these|of the two|] rhymes with {x}[:|,] {a} or {b}?
    {a} or {b}[:|,] [which|what|which one] rhymes with {x}?
    [Does|Will] {a} or {b} rhyme with {x}?
    [Is it|] {a} or {b} [that|which] rhymes with {x}?
    [Pick|Choose|Find|Take] the [word|one] that rhymes with {x}: {a}[,| or] {b}[.|]
    What [goes|fits] better as a rhyme for {x}[:|,] {a} or {b}?
    rhymes with {x}: {a} or {b}[?|]
    * [Of|Between] {a} and {b}, which is the rhyme for {x}?
    """
)


def rhyme(rng: Random, held_out: bool = False) -> Core:
    if rng.random() < CHOICE_RATE:
        return _chosen(rng, held_out)
    core = RHYME_OF.core(rng, held_out)
    return _quoted(core, rng) if rng.random() < _QUOTED_RATE else core


def _quoted(core: Core, rng: Random) -> Core:
    """The question with quotation marks around its word."""
    mark = rng.choice(('"', '"', "'"))
    word = " ".join(core.entities)
    return replace(core, text=re.sub(rf"\b{re.escape(word)}\b", f"{mark}{word}{mark}", core.text, count=1))


def _chosen(rng: Random, held_out: bool) -> Core:
    """Which of two words rhymes, where the other is far from doing so."""
    word = rng.choice(list(RHYMES))
    while True:
        other = rng.choice(list(RHYMES))
        if other[-1] not in (word[-1], RHYMES[word][-1]) and word not in (other, RHYMES[other]):
            break
    pair = [RHYMES[word], other]
    rng.shuffle(pair)
    text = CHOICES.say(rng, held_out).replace("{x}", word).replace("{a}", pair[0]).replace("{b}", pair[1])
    text = " ".join(text.split())
    return Core("rhyme", text[:1].upper() + text[1:], RHYME_OF.say(word), (word, *pair))
