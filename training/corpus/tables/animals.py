"""Animals: their sounds, their young, their legs, and their kinds."""

from __future__ import annotations

from training.corpus import fact_tables
from training.corpus.fact_tables import table

SOUNDS = fact_tables.SOUNDS | table(
    """cricket: chirp; elephant: trumpet; monkey: chatter; pigeon: coo; raven: croak; seagull: squawk; tiger: roar;
    kitten: mew; puppy: yip; lamb: baa; fly: buzz; mosquito: whine; hyena: laugh; dolphin: click; parrot: squawk;
    sparrow: chirp; rattlesnake: rattle; swan: honk; bull: bellow; pony: neigh; zebra: bray; coyote: howl"""
)
YOUNG = fact_tables.YOUNG | table(
    """giraffe: calf; tiger: cub; panda: cub; zebra: foal; donkey: foal; monkey: infant; hippo: calf; dolphin: calf;
    squirrel: kit; beaver: kit; hare: leveret; pigeon: squab; turkey: poult; eel: elver; spider: spiderling;
    crocodile: hatchling; turtle: hatchling; penguin: chick; sparrow: chick; parrot: chick; platypus: puggle;
    hedgehog: hoglet; camel: calf; shark: pup; bat: pup; otter: pup; leopard: cub; cheetah: cub; llama: cria;
    human: baby; koala: joey; moose: calf; mosquito: larva"""
)
LEGS = fact_tables.LEGS | table(
    """sheep: four; pig: four; goat: four; lion: four; tiger: four; bear: four; wolf: four; fox: four; rabbit: four;
    mouse: four; giraffe: four; zebra: four; camel: four; monkey: four; turtle: four; crocodile: four; donkey: four;
    deer: four; wasp: six; mosquito: six; grasshopper: six; ladybird: six; cockroach: six; chicken: two; swan: two;
    goose: two; parrot: two; human: two; ostrich: two; flamingo: two; pigeon: two; rooster: two; tick: eight;
    octopus: no; dolphin: no; shark: no; snail: no; jellyfish: no; shrimp: ten; squirrel: four; hamster: four;
    kangaroo: four"""
)
CLASSES = fact_tables.CLASSES | {
    animal: kind
    for kind, animals in {
        "a mammal": """tiger sheep goat pig fox deer giraffe zebra camel monkey gorilla hamster squirrel donkey panda
        rat hedgehog otter seal hippo rhino leopard cheetah koala moose human""",
        "a bird": "eagle pigeon goose turkey ostrich seagull raven dove woodpecker canary peacock rooster stork",
        "a fish": "eel carp cod sardine piranha seahorse anchovy",
        "a reptile": "alligator iguana chameleon cobra rattlesnake",
        "an insect": "ant wasp ladybird cockroach cricket dragonfly moth termite flea",
        "an amphibian": "axolotl",
    }.items()
    for animal in animals.split()
}
PLURALS = table(
    """mouse: mice; sheep: sheep; fish: fish; deer: deer; goose: geese; wolf: wolves; ox: oxen; fly: flies;
    pony: ponies; calf: calves; butterfly: butterflies; octopus: octopuses; fox: foxes; canary: canaries;
    mosquito: mosquitoes; puppy: puppies; moose: moose; jellyfish: jellyfish; goldfish: goldfish; shrimp: shrimp;
    trout: trout; salmon: salmon; ostrich: ostriches; leech: leeches; cockroach: cockroaches; finch: finches;
    walrus: walruses; platypus: platypuses; hippo: hippos; hare: hares; herring: herring; cod: cod; carp: carp;
    tuna: tuna; dragonfly: dragonflies; bunny: bunnies; guppy: guppies; seahorse: seahorses; bull: bulls;
    piranha: piranhas; anchovy: anchovies; human: humans"""
)
ANIMALS = tuple(dict.fromkeys((*SOUNDS, *YOUNG, *LEGS, *CLASSES)))


def plural(animal: str) -> str:
    return PLURALS.get(animal, f"{animal}s")
