"""Kinds of things and more members of each than are listed, for counting one kind among others."""

from __future__ import annotations

from training.corpus.fact_tables import DAYS, MONTHS, phrases, table

KINDS = {
    name: phrases(members)
    for name, members in table(
        """fruits: apple, banana, cherry, grape, orange, pear, peach, plum, lemon, mango, melon, kiwi, strawberry, fig;
        animals: cat, dog, horse, lion, tiger, cow, pig, sheep, goat, rabbit, mouse, elephant, bear, wolf, fox, monkey;
        colours: red, blue, green, yellow, purple, black, white, brown, grey, pink;
        vegetables: carrot, potato, onion, tomato, pea, cabbage, cucumber, spinach, broccoli, lettuce, bean, leek;
        birds: robin, eagle, owl, duck, crow, pigeon, sparrow, swan, parrot, penguin, seagull, stork;
        cities: Paris, London, Rome, Tokyo, Madrid, Berlin, Vienna, Oslo, Lisbon, Athens, Chicago, Boston;
        countries: France, Italy, Spain, Japan, Brazil, Germany, Greece, Norway, Egypt, Canada, Poland, India;
        planets: Venus, Earth, Mars, Jupiter, Saturn, Uranus, Neptune;
        sports: football, tennis, swimming, running, cycling, hockey, golf, basketball, rugby, skiing;
        drinks: water, tea, coffee, milk, juice, lemonade, cocoa, beer, wine;
        trees: oak, pine, maple, birch, willow, beech, elm, fir, palm;
        flowers: rose, tulip, daisy, lily, orchid, sunflower, poppy, violet;
        instruments: piano, guitar, violin, drum, flute, trumpet, cello, harp, saxophone;
        tools: hammer, saw, drill, wrench, ladder, screwdriver, axe, shovel;
        shapes: circle, square, triangle, oval, rectangle, cube, hexagon;
        metals: iron, gold, silver, copper, tin, lead, zinc, steel;
        insects: bee, ant, fly, beetle, wasp, butterfly, mosquito, moth;
        fish: salmon, tuna, trout, cod, shark, herring, carp;
        languages: English, French, German, Spanish, Italian, Polish, Dutch, Greek;
        clothes: shirt, shoes, hat, coat, scarf, trousers, jacket, socks, skirt, gloves;
        vehicles: car, bus, train, bicycle, lorry, boat, plane, tram, van;
        numbers: one, two, three, four, five, six, seven, eight, nine, ten;
        pieces of furniture: table, chair, sofa, bed, desk, shelf, wardrobe, stool"""
    ).items()
} | {"days": DAYS, "months": MONTHS}
SINGULARS = {
    "countries": "country",
    "cities": "city",
    "fish": "fish",
    "clothes": "piece of clothing",
    "pieces of furniture": "piece of furniture",
}
# Kinds of which one contains things of the other: a bird is an animal, an orange is a colour.
OVERLAPPING = (
    *({"animals", kind} for kind in ("birds", "insects", "fish")),
    *({"colours", kind} for kind in ("flowers", "metals", "fruits", "trees")),
    {"fruits", "trees"},
    {"fruits", "vegetables"},
    {"tools", "pieces of furniture"},
)
