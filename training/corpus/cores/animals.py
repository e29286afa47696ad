"""Animals: what they say, their young, their legs, and their kinds."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from training.corpus import fact_tables
from training.corpus.cores.relation import Relation, grammar
from training.corpus.tables.animals import ANIMALS, CLASSES, LEGS, SOUNDS, YOUNG, plural
from training.corpus.words import COMMON, THINGS, new_word, word_list


def _forms(animal: str) -> Mapping[str, str]:
    return {"x": animal, "a": f"a {animal}", "xs": plural(animal)}


def _no_animal_of(known: Mapping[str, str]) -> tuple[str, ...]:
    things = (*(word for word in COMMON if word not in ANIMALS), *THINGS)
    return (*(animal for animal in ANIMALS if animal not in known and animal != "human"), *things)


def _strangers(known: Mapping[str, str]) -> tuple[str, ...]:
    outside = word_list(
        """
        lemur tapir aardvark armadillo wombat okapi ibex walrus narwhal manatee pangolin sloth dingo unicorn dragon
        phoenix griffin tyrannosaurus mammoth dodo yeti
        """
    )
    return (*(word for word in _no_animal_of(known) if word not in known), *outside)


class Strangers:
    """Draws what is not in the table: an animal without an entry, a thing, or a word that nobody has seen."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self.words = _strangers(known)

    def __call__(self, rng: Random) -> str:
        return rng.choice(self.words) if rng.random() < 0.6 else new_word(rng)


SOUND_OF = Relation(
    "animals",
    SOUNDS,
    "A {x} says {y}.",
    grammar(
        """
        [What|Which] [sound|noise|sounds] does [{a}|the {x}|my {x}] make? => what [sound|noise] {a} makes
        [What|Which] [sound|noise] do {xs} make? => [what|which] [sound|noise] {xs} make
        What does [{a}|the {x}] say? => what [{a}|the {x}] says
        What do {xs} say? => what {xs} say
        How does [{a}|the {x}] [sound|go|talk|speak|call|make]? => how [{a}|the {x}] [sounds|goes|talks|calls]
        How do {xs} [sound|go|talk|speak|call]? => how {xs} [sound|go|talk|call]
        What [sound|noise] [comes|do you hear] from {a}?
        [A|The] {x} [says|goes|makes|sounds][...|?| what?| ___|:| like what?| how?]
        {xs} [say|go|make][...|?| what?| ___|:]
        {x} [sound|noise|sounds][?|]
        {x} [says|goes][?| what?| what]
        [sound|noise] [of|made by] [{a}|{xs}|the {x}|{x}][?|]
        what {x} [say|says|sound like][?|]
        {a} makes [what|which] [sound|noise][?|]
        [Imitate|Sound like|Act like|Pretend to be] {a}[.|!|, please.] [What do you say?|Which sound is it?]
        What would {a} say[ to me| if it could talk|]?
        I [have|saw|met|heard|hear] {a}. What [sound|noise] does it make?
        [Old MacDonald|The farmer] has {a}. What does [it|the {x}] say?
        [Write|Say|Tell me] what {a} says.
        [How|What] is the [sound|noise|call|cry|voice] of {a}?
        What is it that {xs} [say|shout]?
        [Complete|Finish]: [the|a] {x} [says|goes] ___.
        If I were {a}, [what would I say|what sound would I make]?
        * [By what|With what] [sound|noise] do [you|we] know {a}?
        * What can [one|you] hear [when {a} is near|from {xs}]?
        * {a}, how does [it|that] sound?
        * What [do|would] you hear {xs} [saying|making]?
        """
    ),
    grammar(
        """
        the [sound|noise] [of {a}|{a} makes|{xs} make|that {a} makes|made by {a}]
        {a}'s [sound|noise|call|voice|cry]
        the [call|cry|voice] of [{a}|the {x}]
        the [animal sound|animal noise] of {a}
        the word for the sound of {a}
        * the [sound|noise] that comes out of {a}
        """
    ),
    grammar(
        """
        What sounds do {x} make?
        What do [these animals|the following animals] say: {x}?
        The sounds of {x}?
        [Tell me|Give me] the [sounds|noises] of {x}.
        Which noises belong to {x}?
        * The animals {x}, how do they sound?
        """
    ),
    grammar(
        """
        What [sound|noise] does it make?
        What does it say?
        And its [sound|noise]?
        * How does [it|that] sound?
        """
    ),
    "animal",
    _forms,
    Strangers(SOUNDS),
)
ANIMAL_OF_SOUND = Relation(
    "animals",
    {sound: animal for animal, sound in fact_tables.SOUNDS.items()},
    "A {y} says {x}.",
    grammar(
        """
        [Which|What] animal [says|goes|makes] {x}? => [which|what] animal [says|goes] {x}
        [Which|What] animal makes the [sound|noise] {x}? => [which|what] animal makes the [sound|noise] {x}
        {x} is the [sound|noise] of [which|what] animal[?|]
        Who [says|goes] {x}? => who [says|goes] {x}
        {x}: [which|what] animal[ is it| says that| is that|]?
        I [hear|heard] {x}. [Which|What] animal [is|was] [it|that]?
        animal that [says|goes] {x}[?|]
        * {x} is what [which|what] creature says?
        * From [which|what] animal do you hear {x}?
        """
    ),
    grammar(
        """
        the animal that [says|goes|makes] {x}
        the animal [with|making] the [sound|noise] {x}
        * the one that always says {x}
        """
    ),
)
YOUNG_OF = Relation(
    "animals",
    YOUNG,
    "A baby {x} is called a {y}.",
    grammar(
        """
        What is [a|the] [baby|young|little|newborn] {x} called? => what a [baby|young|little] {x} is called
        What are [baby|young|little|newborn] {xs} called? => what [baby|young] {xs} are called
        What do [you|we|people|they] call [a|the] [baby|young|little|newborn] {x}? => what [you|they] call a baby {x}
        How [do you call|is] a [baby|young|little] {x} [called|named|]?
        What is the [word|name|term] for a [baby|young|little|newborn] {x}? => what the word for a baby {x} is
        What is the [baby|young|child|offspring|kid] of {a} called? => what the [baby|young|child] of {a} is called
        What are the [babies|young|children|offspring] of {a} called? => what the babies of {a} are called
        [A|The] [baby|young|little] {x} is [called|a|named|][...|?| what?| ___|:]
        [baby|young] {x}[?| name| name?| called?| is called| word?]
        {x} baby[?| name| name?| called?| is called|]
        {xs} have babies called[...|?| what?]
        [When|If] {a} has a baby, what is it called?
        What does {a} [grow up from|begin as]?
        My {x} had a baby. What is [it|that|the baby] called?
        [Name|Tell me] the [baby|young] of {a}.
        [Complete|Finish]: a [baby|young] {x} is called a ___.
        {a}'s [baby|child|young] is called[ what|]?
        * By what name does one know a [baby|young] {x}?
        * What would you call the [small child|little one] of {a}?
        * The [little ones|kids] of {xs}, what are they called?
        """
    ),
    grammar(
        """
        the [word|name|term] for a [baby|young|little|newborn] {x}
        the name of a [baby|young|little] {x}
        the [baby|young|child|offspring] of {a}
        {a}'s [baby|young|child]
        a [baby|young] {x}
        the [right word|correct word|proper name] for a [baby|young] {x}
        * the word people use for the young of {xs}
        """
    ),
    grammar(
        """
        What are the babies of {x} called?
        What do you call the young of {x}?
        The babies of {x}?
        * By what names do the young of {x} go?
        """
    ),
    grammar(
        """
        What is its [baby|young] called?
        [And|] what do you call its baby?
        And its [baby|young]?
        * And the little one of it?
        """
    ),
    "animal",
    _forms,
    Strangers(YOUNG),
)
_YOUNG_NAMES = [young for young in YOUNG.values() if list(YOUNG.values()).count(young) == 1 and young != "baby"]
ANIMAL_OF_YOUNG = Relation(
    "animals",
    {young: animal for animal, young in YOUNG.items() if young in _YOUNG_NAMES},
    "A baby {y} is called a {x}.",
    grammar(
        """
        [Which|What] animal's [baby|young] is [called|] a {x}? => [which|what] animal's baby is a {x}
        A {x} is [the|a] [baby|young] [of|] [which|what] animal[?|]
        A {x} is a baby what?
        A {x} [grows up to be|becomes|grows into|turns into|will be][...|?| what?| which animal?| ___]
        What does a {x} [become|grow into|turn into|grow up to be]? => what a {x} [becomes|grows into]
        [Which|What] animal [has|gets] a {x}? => [which|what] animal [has|gets] a {x}
        [Whose|Of which animal is the] baby is a {x}?
        [Which|What] [animal|grown animal|adult] is a {x}[ when grown up|]?
        * To [which|what] animal does a {x} belong as a child?
        * {x}: a young what?
        """
    ),
    stranger=lambda rng: new_word(rng),
)
LEGS_OF = Relation(
    "animals",
    LEGS,
    "A {x} has {y} legs.",
    grammar(
        """
        How many legs does [{a}|the {x}|my {x}|one {x}] have? => how many legs [{a}|the {x}|my {x}|one {x}] has
        How many legs do {xs} have? => how many legs {xs} have
        How many legs has [{a}|the {x}] got? => how many legs [{a}|the {x}] has got
        How many legs [has {a}|have {xs}]?
        How many legs are there on {a}? => how many legs there are on {a}
        How many legs [can you|do you|would you] [count|see|find] on {a}?
        What [number|amount|count] of legs does {a} have? => what number of legs {a} has
        On how many legs does {a} [walk|stand|run]? => on how many legs {a} [walks|stands|runs]
        With how many legs [does {a} walk|is {a} born]?
        {a} [has|has got|walks on|runs on|stands on] how many legs[?|]
        {xs} [have|have got|walk on] how many legs[?|]
        {a} has[ ...| ___|... how many] legs[?|]
        {x} legs[?| how many?| number?|: how many?|]
        legs of {a}[?|]
        [number|nr] of legs [of|on|for] {a}[?|]
        how many legs {x}[?|]
        [Count|Tell me|Say|Give me] the legs of {a}[.|, please.]
        I drew {a}. How many legs [should|must|does] it have?
        {a}, how many legs does it have?
        [Complete|Finish]: {a} has ___ legs.
        Does {a} have [two|four|six|eight] legs[, or how many|]?
        [Two|Four|Six|Eight|Ten] legs or how many, {a}?
        Number of legs that {a} has?
        * {a} gets around on how many legs?
        * [What is|Tell me] {a}'s leg count[?|.]
        * How many [feet and legs|limbs to walk on] does {a} have?
        """
    ),
    grammar(
        """
        the number of legs [of {a}|on {a}|{a} has|{xs} have|that {a} has]
        the [leg count|amount of legs] of {a}
        {a}'s number of legs
        * the count of legs beneath {a}
        """
    ),
    grammar(
        """
        How many legs do {x} have?
        How many legs have {x}?
        The number of legs of {x}?
        * {x}: how many legs each?
        """
    ),
    grammar(
        """
        How many legs does it have?
        And how many legs?
        And its legs, how many?
        * How many legs has it got?
        """
    ),
    "animal",
    _forms,
    Strangers(LEGS),
)
CLASS_OF = Relation(
    "animals",
    CLASSES,
    "A {x} is {y}.",
    grammar(
        """
        [What|Which] [kind|type|sort|class|group] of animal is [{a}|the {x}]? => what [kind|type] of animal {a} is
        [What|Which] [kind|type|sort] of animals are {xs}? => [what|which] [kind|type|sort] of animals {xs} are
        [To|] [which|what] [class|group|family|kind] [of animals|] does [{a}|the {x}] belong [to|]?
        Is {a} a [mammal|bird|fish|reptile|insect] or a [mammal|bird|fish|reptile|insect|amphibian]?
        Is {a} a [mammal|bird|fish|reptile|insect|amphibian]? [Or what is it?|What is it?|What kind of animal is it?]
        Are {xs} [mammals|birds|fish|reptiles|insects], [mammals|birds|reptiles] or [insects|amphibians|fish]?
        {a}: [mammal, bird or fish|mammal or bird|insect or bird|reptile or amphibian|fish or mammal]?
        {a} is [what|which] [kind|type|sort] of animal[?|]
        [What|Which] animal [class|group|kind] [is {a} in|is {a}|does {a} fall into]?
        {x} [kind of animal|animal class|animal group|animal type|class][?|]
        [what|which] [kind|type] of animal {x}[?|]
        [How|As what] [is {a} classified|do you classify {a}|would you class {a}]? => how {a} is classified
        [Classify|Categorise] [{a}|the {x}|{xs}][.|, please.]
        Among animals, what is {a}?
        [Is {a}|{a} is] one of the mammals, the birds, the reptiles, [the fish|the fish or the insects]?
        * {xs} count as what among animals?
        * [In|Into] [which|what] [class|group] of animals [would|do] you put {a}?
        * {a}, a mammal or something else?
        """
    ),
    grammar(
        """
        the [kind|type|sort|class|group] of animal [{a} is|that {a} is]
        the [animal class|animal group|class|group] of {a}
        the [class|group] [{a} belongs to|{xs} belong to]
        * the class that biologists put {a} in
        """
    ),
    grammar(
        """
        What kinds of animals are {x}?
        Which classes do {x} belong to?
        Classify {x}.
        * {x}: what types of animal are they?
        """
    ),
    grammar(
        """
        [What|Which] kind of animal is it?
        Is it a mammal, a bird or what?
        And its class?
        * To which class does it belong?
        """
    ),
    "animal",
    _forms,
    Strangers(CLASSES),
)
RELATIONS = (SOUND_OF, ANIMAL_OF_SOUND, YOUNG_OF, ANIMAL_OF_YOUNG, LEGS_OF, CLASS_OF)
