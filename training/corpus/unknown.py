"""Questions that the model should not know: invented, private, live, future, too hard, or for a tool."""

from __future__ import annotations

from random import Random

from training.corpus.hedges import hedge
from training.corpus.phrasing import Phrasing
from training.corpus.sample import Sample, exchange
from training.corpus.tool_tables import everyday_request
from training.corpus.words import any_city, any_name, new_word

_TOPICS = """
quantum physics, photosynthesis, the French revolution, machine learning, the stock market, inflation,
black holes, evolution, democracy, climate change, the human brain, DNA, vaccines, electricity, magnets,
jazz, chess, poetry, philosophy, taxes, mortgages, the Roman empire, the second world war, the internet,
operating systems, databases, compilers, Python, Java, recursion, sorting algorithms, neural networks,
cryptography, blockchain, tennis rules, cooking rice, baking bread, gardening, yoga, meditation, football
tactics, rockets, satellites, volcanoes, earthquakes, dinosaurs, whales, deep sea fish, opera, ballet,
painting, architecture, bridges, law, contracts, insurance, marketing, economics, psychology, dreams,
memory, sleep, nutrition, vitamins, medicine, surgery, headaches, allergies, airplanes, engines,
batteries, solar power, nuclear power, wind energy, recycling, plastics, steel, glass, paper making,
printing, photography, film, theatre, novels, grammar, Latin, mathematics, calculus, algebra, statistics,
probability, geometry, prime numbers, logic, time travel, gravity, light, sound, colour theory, fashion,
perfume, coffee roasting, wine, cheese making, bees, ants, spiders, birds of prey, horses, dog training
"""
TOPICS = tuple(" ".join(topic.split()) for topic in _TOPICS.split(","))
OPEN_QUESTIONS = (
    "Explain {t}.",
    "How does {t} work?",
    "Write a poem about {t}.",
    "Write a haiku about {t}.",
    "Write a long article about {t}.",
    "Write an essay about {t}.",
    "What is the history of {t}?",
    "Explain {t} to a child.",
    "What are the main ideas of {t}?",
    "Why is {t} important?",
    "Give me an overview of {t}.",
    "Write a program about {t}.",
    "What should I know about {t}?",
    "Who invented {t}?",
    "What is {t}?",
    "Teach me about {t}.",
    "Compare {t} and {t2}.",
    "What is the difference between {t} and {t2}?",
    "Summarise {t} in one sentence.",
    "How did {t} begin?",
    "Write a letter about {t}.",
    "What are the problems of {t}?",
    "Which book about {t} is the best?",
    "What is new in {t}?",
    "Describe {t} in detail.",
    "How do I learn {t}?",
    "Can you explain how {t} works?",
    "What do experts think of {t}?",
    "Give me five facts about {t}.",
)
QUESTIONS = (
    "{w}",
    "{w} {v}",
    "What is the capital of {W}?",
    "Who is {W}?",
    "Who was {W} {V}?",
    "What is a {w}?",
    "What does {w} mean?",
    "What is the symbol of {w}?",
    "What is the opposite of {w}?",
    "What colour is a {w}?",
    "On which continent is {W}?",
    "What rhymes with {w}?",
    "How many {w} are in a {v}?",
    "Where is {W}?",
    "When was {W} founded?",
    "How many people live in {city}?",
    "What time is it in {city}?",
    "What is the weather in {city} today?",
    "What is the weather in {city}?",
    "What will the weather be in {city} tomorrow?",
    "What did {name} eat yesterday?",
    "What is {name}'s phone number?",
    "Where did I put my keys?",
    "What is the price of {W} shares?",
    "Who will win the election in {year}?",
    "Who won the cup in {year}?",
    "What happened in {city} in {year}?",
    "Who wrote the book {W} {V}?",
    "What is {big} times {big2}?",
    "What is {big} + {big2}?",
    "What is the square root of {big}?",
    "Explain the theory of {w} {v}.",
    "Write a program in {W}.",
    "Translate {w} into {W}.",
    "What is the best way to learn {w}?",
    "Why does the {w} {v}?",
    "How does a {w} work?",
    "What are the side effects of {w}?",
    "How do I repair my {w}?",
    "What am I thinking of?",
    "What will happen to {name} next year?",
    "Describe the history of {city}.",
    "Summarise the laws of {W}.",
    "Which {w} is the best?",
    "Which {w} is better, {V} or {W}?",
    "What is the newest {w}?",
    "What is the best {w}?",
    "Is {W} the best {w}?",
    "How tall is {name} {W}?",
    "What is {big} divided by {year}?",
    "How old is {name} {W}?",
    "Who owns the company {W}?",
    "Where was {name} {W} born?",
    "What is the height of {W}?",
    "How far is {W} from {city}?",
    "Prove the {W} theorem.",
)


def unknown(rng: Random, held_out: bool) -> Sample:
    phrasing = Phrasing(rng, held_out)
    if rng.random() < 0.1:
        return exchange("unknown", phrasing.carry(everyday_request(phrasing), casual=False), hedge(rng))
    templates = OPEN_QUESTIONS if rng.random() < 0.4 else QUESTIONS
    question = phrasing.template(templates).format(
        t=rng.choice(TOPICS),
        t2=rng.choice(TOPICS),
        w=new_word(rng),
        v=new_word(rng),
        W=new_word(rng).capitalize(),
        V=new_word(rng).capitalize(),
        city=any_city(rng),
        name=any_name(rng),
        year=rng.randint(1500, 2090),
        big=rng.randint(200, 9999),
        big2=rng.randint(200, 9999),
    )
    return exchange("unknown", phrasing.carry(question), hedge(rng))
