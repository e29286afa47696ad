"""Several questions in one message, and questions among statements about something else."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from training.corpus.wording.chat_frames import uncapitalised
from training.corpus.wording.grammar import Grammar

# {1} and {2} are questions as they stand, {u1} and {u2} the same after other words of a sentence.
PAIRS = Grammar.read(
    """
    {1} {2}
    {1} {2}
    {1} And {u2}
    {1} And {u2}
    {1} And also {u2}
    {1} Also, {u2}
    {1} Then {u2}
    {1} [After that|Next|Second|Besides|Another one|One more|One more thing|Also this]: {u2}
    {1} [I also want to know|And one more question|Another question]: {u2}
    [Two|2] questions[:|.] {1} {2}
    [Two|2] questions[:|.] {1} And {u2}
    [I have two questions|Please answer both|Answer both|Both please|Two things][:|.] {1} {2}
    1. {1} 2. {2}
    1) {1} 2) {2}
    a) {1} b) {2}
    First[:|,] {u1} [Second|Then|Next][:|,] {u2}
    [First question|Question 1|Question one]: {1} [Second question|Question 2|Question two]: {2}
    {1} / {2}
    {1} + also: {2}
    - {1} - {2}
    * To begin with: {u1} To end with: {u2}
    * {1} Apart from that, {u2}
    * {1} On another note: {u2}
    """
)
TRIPLES = Grammar.read(
    """
    {1} {2} {3}
    {1} {2} And {u3}
    {1} And {u2} And {u3}
    {1} Then {u2} [Last|Finally|And last]: {u3}
    [Three|3] questions[:|.] {1} {2} {3}
    1. {1} 2. {2} 3. {3}
    1) {1} 2) {2} 3) {3}
    First, {u1} Second, {u2} Third, {u3}
    * {1} On we go: {u2} And to finish: {u3}
    """
)
# {s} states something else of the same kind, {q} asks.
STATEMENTS = Grammar.read(
    """
    {s} {q}
    {s} {q}
    {s} [But|And|So|Now|And now,|Okay, but] {u}
    I know [this|that one|this already]: {s} [But|Now] {u}
    [I know that|I have read that|I learnt that|They say that|Somebody told me that|Yesterday you said that] {us} {q}
    [Fact|For example|Example|By the way|Note]: {s} {q}
    {s} [I know that much|That I know|This is clear|That was easy]. {q}
    [Not about|This is not about|Forget about|I don't ask about] {z}[.|:] {q}
    {q} [Not about|I don't mean|I do not mean|I am not asking about] {z}.
    * {s} So far, so good. {q}
    * [Leave out|Never mind] {z}. {q}
    """
)


def joined(questions: Sequence[str], rng: Random, held_out: bool = False) -> str:
    """Two or three questions as one message."""
    ended = [text if text[-1] in "?.!" else text + rng.choice("??.") for text in questions]
    text = (PAIRS if len(ended) == 2 else TRIPLES).say(rng, held_out)
    for place, question in enumerate(ended, start=1):
        text = text.replace(f"{{u{place}}}", uncapitalised(question)).replace(f"{{{place}}}", question)
    return text


def after_statement(question: str, statement: str, other: str, rng: Random, held_out: bool = False) -> str:
    """The question after or before a statement about `other`, which the question is not about."""
    ended = question if question[-1] in "?.!" else question + "?"
    text = STATEMENTS.say(rng, held_out)
    text = text.replace("{s}", statement).replace("{us}", uncapitalised(statement)).replace("{z}", other)
    return text.replace("{q}", ended).replace("{u}", uncapitalised(ended))
