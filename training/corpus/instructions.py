"""Short instructions: list, repeat, count, rhyme, uppercase."""

from __future__ import annotations

from random import Random

from training.corpus.fact_tables import DAYS, MONTHS, table
from training.corpus.phrasing import Phrasing
from training.corpus.sample import Sample, exchange
from training.corpus.words import COMMON, any_sentence, any_word

NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
LISTS = {
    name: tuple(items.split())
    for name, items in table(
        """fruits: apple banana cherry grape orange; animals: cat dog horse lion tiger;
        colours: red blue green yellow purple; vegetables: carrot potato onion tomato pea;
        birds: robin eagle owl duck crow; cities: Paris London Rome Tokyo Madrid;
        countries: France Italy Spain Japan Brazil; planets: Mercury Venus Earth Mars Jupiter;
        sports: football tennis swimming running cycling; drinks: water tea coffee milk juice;
        trees: oak pine maple birch willow; flowers: rose tulip daisy lily orchid;
        instruments: piano guitar violin drum flute; tools: hammer saw drill wrench ladder;
        shapes: circle square triangle star oval; metals: iron gold silver copper tin;
        insects: bee ant fly beetle wasp; fish: salmon tuna trout cod shark;
        languages: English French German Spanish Italian; clothes: shirt shoes hat coat scarf"""
    ).items()
} | {"days": DAYS[:5], "months": MONTHS[:5]}
RHYMES = table(
    """cat: hat; dog: fog; sun: fun; moon: spoon; star: car; tree: bee; fish: dish; bird: word; ship: trip;
    lake: cake; rain: train; snow: blow; wind: pinned; fire: wire; hill: mill; road: toad; door: floor; book: cook;
    lamp: camp; ring: king; light: night; house: mouse; bed: red; ball: wall; boat: goat; bear: chair; day: play;
    green: queen; blue: shoe; rose: nose; bell: shell; duck: truck; frog: log; hand: sand; love: dove; nine: wine;
    pen: ten; sea: key; sky: pie; time: lime; top: hop; bug: rug; big: pig; cold: gold; fly: high; game: name;
    jump: pump; list: mist; mice: rice; pot: hot; run: bun; sing: wing; stone: bone; sweet: feet; van: man;
    wet: net; year: ear; plate: gate; train: rain; dance: chance; heart: part; fear: dear; skin: chin; leg: peg;
    arm: farm; cup: pup; bag: flag; coat: note; nut: hut; leaf: thief; bread: head; cheese: knees; dream: cream;
    glass: grass; friend: end; girl: pearl; boy: toy; kid: lid; face: race; nail: tail; lip: tip; wood: good;
    wall: tall; roof: proof; street: feet; town: brown; black: sack; white: kite; pink: drink; grey: day;
    old: fold; new: few; long: song; short: sport; fast: past; slow: grow; sad: mad; nice: ice; cool: pool;
    warm: storm; soap: hope; tall: fall; bright: night; four: door; five: dive; six: sticks; eight: late;
    two: shoe; three: free; sand: band; wave: cave; sheep: sleep; cow: now; hen: men; worm: term; bat: rat;
    deer: beer; goose: loose; seal: meal; ant: plant; ape: grape; crab: cab; whale: sail; hawk: walk; cave: brave;
    head: red; hair: fair; toe: row; knee: bee; nose: hose; back: track; mouth: south; tooth: youth; bone: phone;
    fruit: boot; plum: thumb; corn: horn; peach: beach; pear: hair; soup: loop; salt: fault; meat: seat;
    juice: moose; clock: sock; desk: risk; dress: chess; shirt: dirt; hat: mat; belt: melt; crown: down;
    brain: chain; mind: find; wish: fish; joy: boy; care: share; luck: truck; peace: geese; war: door; law: saw;
    school: fool; class: grass; write: bite; read: seed; talk: chalk; sleep: deep; eat: heat; drink: think;
    swim: trim; make: snake; take: lake; give: live; go: snow; stay: may; see: tree; hear: near; say: clay;
    tell: well; ask: mask; fox: box; lion: iron; snake: rake"""
)
LIST_QUESTIONS = (
    "List {n} {x}.",
    "Name {n} {x}.",
    "Give me {n} {x}.",
    "Tell me {n} {x}.",
    "Write down {n} {x}.",
    "Can you list {n} {x}?",
    "I need {n} {x}.",
    "Can you name {n} {x}?",
    "Show me {n} {x}.",
)
TIMES_QUESTIONS = (
    "Repeat the word {x} {n} times.",
    "Say {x} {n} times.",
    "Write {x} {n} times.",
    "Write the word {x} {n} times.",
    "Say the word {x} {n} times.",
)
ECHO_QUESTIONS = (
    "Repeat after me: {x}",
    "Say: {x}",
    "Repeat this: {x}",
    "Copy this: {x}",
    "Please repeat: {x}",
    "Echo this: {x}",
    "Write this: {x}",
    "Repeat these words: {x}",
    "Copy these words: {x}",
)
COUNT_QUESTIONS = (
    "Count from {a} to {b}.",
    "Please count from {a} to {b}.",
    "Can you count from {a} to {b}?",
    "List the numbers from {a} to {b}.",
    "Give me the numbers from {a} to {b}.",
    "Write the numbers from {a} to {b}.",
    "Say the numbers from {a} to {b}.",
)
COUNT_TO_QUESTIONS = (
    "Count to {b}.",
    "Please count to {b}.",
    "Can you count to {b}?",
    "Count from 1 until {b}.",
    "Count from one up to {b}.",
    "Please count until you reach {b}.",
    "Count up to {b}.",
    "Count until {b}.",
)
RHYME_QUESTIONS = (
    "What rhymes with {x}?",
    "Give me a rhyme for {x}.",
    "Which word rhymes with {x}?",
    "Tell me a word that rhymes with {x}.",
    "Find a rhyme for {x}.",
    "Say a word that rhymes with {x}.",
    "Name a word that rhymes with {x}.",
)
UPPERCASE_QUESTIONS = (
    "Write {x} in uppercase.",
    "Write {x} in capital letters.",
    "Put {x} in uppercase.",
    "Turn {x} into uppercase.",
    "Make {x} uppercase.",
    "Uppercase {x}.",
    "Change {x} to uppercase.",
    "Convert {x} to uppercase.",
    "Write the word {x} in uppercase.",
    "Put {x} in capital letters.",
)


def lists(rng: Random, held_out: bool) -> Sample:
    phrasing = Phrasing(rng, held_out)
    name, count = rng.choice(list(LISTS)), rng.randint(2, 5)
    number = str(count) if rng.random() < 0.3 else NUMBER_WORDS[count]
    question = phrasing.carry(phrasing.template(LIST_QUESTIONS).format(n=number, x=name))
    return exchange("list", question, ", ".join(LISTS[name][:count]))


def repeat(rng: Random, held_out: bool) -> Sample:
    phrasing = Phrasing(rng, held_out)
    if rng.random() < 0.4:
        word, count = any_word(rng), rng.randint(2, 5)
        number = str(count) if rng.random() < 0.3 else NUMBER_WORDS[count]
        question = phrasing.template(TIMES_QUESTIONS).format(x=word, n=number)
        return exchange("repeat", phrasing.carry(question, casual=False), " ".join([word] * count))
    words = any_sentence(rng) if rng.random() < 0.4 else " ".join(any_word(rng) for _ in range(rng.randint(1, 7)))
    question = phrasing.alone(ECHO_QUESTIONS).format(x=words)
    # Text after the words would be part of them, so only carriers before the question are used.
    carried = phrasing.carry(question, casual=False)
    return exchange("repeat", carried if carried.endswith(words) else question, words)


def count(rng: Random, held_out: bool) -> Sample:
    phrasing = Phrasing(rng, held_out)
    first = 1 if rng.random() < 0.4 else rng.randint(0, 20)
    last = first + rng.randint(2, 9)
    templates = COUNT_TO_QUESTIONS if first == 1 and rng.random() < 0.5 else COUNT_QUESTIONS
    question = phrasing.template(templates).format(a=first, b=last)
    if last <= 10 and rng.random() < 0.3:
        question = phrasing.template(templates).format(a=NUMBER_WORDS[first], b=NUMBER_WORDS[last])
    return exchange("count", phrasing.carry(question), ", ".join(str(n) for n in range(first, last + 1)))


def rhyme(rng: Random, held_out: bool) -> Sample:
    phrasing = Phrasing(rng, held_out)
    word = rng.choice(list(RHYMES))
    question = phrasing.carry(phrasing.template(RHYME_QUESTIONS).format(x=word))
    return exchange("rhyme", question, f"{RHYMES[word].capitalize()} rhymes with {word}.")


def uppercase(rng: Random, held_out: bool) -> Sample:
    phrasing = Phrasing(rng, held_out)
    words = " ".join(rng.choice(COMMON) for _ in range(rng.choice((1, 1, 1, 2))))
    question = phrasing.carry(phrasing.template(UPPERCASE_QUESTIONS).format(x=words), casual=False)
    return exchange("uppercase", question, words.upper())
