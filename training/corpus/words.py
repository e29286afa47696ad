"""Words for placeholders of samples: people, places, things, and invented words."""

from __future__ import annotations

from random import Random


def word_list(text: str) -> tuple[str, ...]:
    return tuple(text.split())


GIRLS = word_list("""Anna Mia Lily Emma Sara Nora Ella Lucy Ruth Clara Rosa Zoe Ivy Maya Alice Eva Julia Tina""")
BOYS = word_list("""Tom Ben Max Leo Sam Jack Paul Finn Oscar Hugo Adam Noah Felix Peter David Omar Luis Karl""")
NAMES = GIRLS + BOYS
CITIES = word_list(
    """Paris London Berlin Rome Madrid Tokyo Oslo Cairo Lima Boston Chicago Dublin Vienna Prague Lisbon
    Athens Mumbai Delhi Seoul Sydney Toronto Denver Miami Seattle Dallas Zurich Geneva Munich Hamburg
    Lyon Naples Porto Nairobi Accra Quito Bogota Havana Dallas Houston Austin Phoenix Kyoto Osaka
    Shanghai Perth Auckland"""
)
THINGS = word_list(
    """milk bread eggs apples coffee tea rice soap paper batteries flowers cheese butter sugar salt pasta
    shoes socks lamp chair table book phone laptop camera guitar bicycle tent jacket umbrella pizza
    salad soup burger cake juice water honey candles pencils blanket pillow hammer ladder mirror clock
    radio keyboard"""
)
VERBS = word_list(
    """get set send find create update delete start stop open close book order play check search list add
    remove move copy show track schedule cancel compute read write lock unlock cook clean paint build
    rename print scan fetch load save post share buy sell rent plan log sort merge count publish archive
    export import"""
)
NOUNS = word_list(
    """weather message timer alarm light music note task event ticket invoice file folder report user
    account order parcel room table taxi flight train recipe photo video song playlist contact reminder
    meeting document backup server password door window heater garden robot printer camera car bike
    route map price stock score game team book page image label survey form payment coupon device sensor
    channel profile garage oven"""
)
COMMON = word_list(
    """apple river stone cloud tiger green happy window garden silver music winter paper mountain bread
    forest yellow candle bridge ocean rabbit dream summer pencil castle orange butter planet dragon
    flower kitchen morning pocket rocket shadow spider spring street sugar sunset table thunder travel
    valley village water whisper wonder home cat dog sun moon star tree fish bird ship lake rain snow
    wind fire hill road door book lamp ring king queen hello world good night blue red big small fast
    slow warm cold sweet salt tea milk egg cake rice corn leaf root seed rose lion bear wolf frog duck
    goat horse mouse snake eagle whale shark train plane wagon wheel engine bottle basket hammer ladder
    mirror pillow blanket button jacket helmet cactus desert island market temple"""
)
COLOUR_WORDS = word_list("red blue green yellow white black brown grey pink orange purple turquoise beige golden")
COUNTED = word_list(
    """apples pears eggs books pens stamps coins chairs plates cups cards balls stickers marbles flowers candles bottles
    tickets letters cookies shells buttons"""
)
_ONSETS = word_list("b br c ch cr d dr f fl g gr h j k kl l m n p pl qu r s sh sk st t tr v w y z")
_VOWELS = word_list("a e i o u ai ea ee io oo ou")
_CODAS = (
    "",
    "",
    "",
    "b",
    "ck",
    "d",
    "l",
    "lm",
    "m",
    "n",
    "nd",
    "p",
    "r",
    "rt",
    "s",
    "st",
    "t",
    "th",
    "x",
    "z",
)


def new_word(rng: Random) -> str:
    """A pronounceable word that is very likely in no list."""
    syllables = (rng.choice(_ONSETS) + rng.choice(_VOWELS) + rng.choice(_CODAS) for _ in range(rng.choice((2, 2, 3))))
    return "".join(syllables)


def any_word(rng: Random) -> str:
    return rng.choice(COMMON) if rng.random() < 0.6 else new_word(rng)


_GRAMMAR = (
    "the {a} {v} on the {b}",
    "a {a} and a {b}",
    "I {v} the {a}",
    "my {a} is in the {b}",
    "the {a} is not a {b}",
    "we {v} to the {a}",
    "this is the {a} of the {b}",
    "you can {v} it",
    "there was a {a} under the {b}",
    "the {a} {v} me, and I {v} you",
)


def any_sentence(rng: Random) -> str:
    """Words in an order that people use, or in none."""
    if rng.random() < 0.6:
        return " ".join(any_word(rng) for _ in range(rng.randint(2, 5)))
    return rng.choice(_GRAMMAR).format(a=any_word(rng), b=any_word(rng), v=rng.choice(VERBS))


def any_name(rng: Random) -> str:
    return rng.choice(NAMES) if rng.random() < 0.6 else new_word(rng).capitalize()


def any_city(rng: Random) -> str:
    return rng.choice(CITIES) if rng.random() < 0.6 else new_word(rng).capitalize()


def any_thing(rng: Random) -> str:
    return rng.choice(THINGS) if rng.random() < 0.7 else new_word(rng)
