"""Small arithmetic: sums and differences of numbers to 99, products to 10 times 10.

Every answer first writes the problem out, so that the sum itself always looks the same whatever the wording.
"""

from __future__ import annotations

from random import Random

from training.corpus.phrasing import Phrasing
from training.corpus.sample import Sample, exchange

LARGEST_TERM = 99
LARGEST_FACTOR = 10
SUM_QUESTIONS = (
    "What is {a}+{b}?",
    "{a}+{b}",
    "What is {a} + {b}?",
    "What is {a} plus {b}?",
    "How much is {a} + {b}?",
    "{a} + {b}",
    "{a} + {b} = ?",
    "Add {a} and {b}.",
    "Calculate {a} + {b}.",
    "What is the sum of {a} and {b}?",
    "Compute {a} plus {b}.",
    "{a} plus {b}?",
    "What do you get if you add {a} and {b}?",
    "How much is {a} plus {b}?",
    "Tell me {a} plus {b}.",
    "What's {a} + {b}?",
    "Can you add {a} and {b}?",
)
DIFFERENCE_QUESTIONS = (
    "What is {a}-{b}?",
    "{a}-{b}",
    "What is {a} - {b}?",
    "What is {a} minus {b}?",
    "How much is {a} - {b}?",
    "{a} - {b}",
    "{a} minus {b}?",
    "Calculate {a} - {b}.",
    "Take {b} away from {a}.",
    "How much is {a} minus {b}?",
    "Tell me {a} minus {b}.",
    "What's {a} - {b}?",
)
PRODUCT_QUESTIONS = (
    "What is {a}*{b}?",
    "{a}x{b}",
    "What is {a} times {b}?",
    "What is {a} x {b}?",
    "How much is {a} times {b}?",
    "{a} x {b}",
    "{a} * {b}",
    "What is {a} * {b}?",
    "Multiply {a} by {b}.",
    "What is the product of {a} and {b}?",
    "Calculate {a} times {b}.",
    "What is {a} multiplied by {b}?",
    "How much is {a} x {b}?",
    "What's {a} times {b}?",
)


def is_held_out(a: int, b: int) -> bool:
    """One pair of terms in ten is never trained on."""
    return (a * 31 + b * 17) % 10 == 3


def sums(rng: Random, held_out: bool) -> Sample:
    phrasing = Phrasing(rng, held_out)
    while True:
        a, b = rng.randint(0, LARGEST_TERM), rng.randint(0, LARGEST_TERM)
        if rng.random() < 0.25:
            a, b = a % 21, b % 21
        if is_held_out(a, b) == held_out:
            break
    question = phrasing.carry(phrasing.template(SUM_QUESTIONS).format(a=a, b=b))
    return exchange("sums", question, f"{a} + {b} = {a + b}.")


def differences(rng: Random, held_out: bool) -> Sample:
    phrasing = Phrasing(rng, held_out)
    a = rng.randint(0, LARGEST_TERM)
    b = rng.randint(0, a)
    question = phrasing.carry(phrasing.template(DIFFERENCE_QUESTIONS).format(a=a, b=b))
    return exchange("differences", question, f"{a} - {b} = {a - b}.")


def products(rng: Random, held_out: bool) -> Sample:
    phrasing = Phrasing(rng, held_out)
    a, b = rng.randint(0, LARGEST_FACTOR), rng.randint(0, LARGEST_FACTOR)
    question = phrasing.carry(phrasing.template(PRODUCT_QUESTIONS).format(a=a, b=b))
    return exchange("products", question, f"{a} x {b} = {a * b}.")
