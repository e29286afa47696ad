"""The facts that the model is taught."""

from __future__ import annotations

from collections.abc import Mapping

from training.corpus.words import word_list


def table(text: str) -> dict[str, str]:
    """Read `x: y` pairs separated by semicolons."""
    pairs = (pair.split(":", 1) for pair in text.replace("\n", " ").split(";") if pair.strip())
    return {x.strip(): y.strip() for x, y in pairs}


def phrases(text: str) -> tuple[str, ...]:
    """Read phrases separated by commas."""
    return tuple(" ".join(phrase.split()) for phrase in text.split(","))


COUNTRIES: Mapping[str, Mapping[str, str]] = {
    "Europe": table(
        """France: Paris; Germany: Berlin; Italy: Rome; Spain: Madrid; Portugal: Lisbon; Greece: Athens;
        Austria: Vienna; Switzerland: Bern; Belgium: Brussels; the Netherlands: Amsterdam;
        Denmark: Copenhagen;
        Sweden: Stockholm; Norway: Oslo; Finland: Helsinki; Iceland: Reykjavik; Ireland: Dublin;
        the United Kingdom: London; Poland: Warsaw; Hungary: Budapest; Romania: Bucharest; Bulgaria: Sofia;
        Serbia: Belgrade; Croatia: Zagreb; Slovenia: Ljubljana; Slovakia: Bratislava; Ukraine: Kyiv;
        Russia: Moscow; Estonia: Tallinn; Latvia: Riga; Lithuania: Vilnius; Albania: Tirana; Malta: Valletta;
        Czechia: Prague"""
    ),
    "Asia": table(
        """China: Beijing; Japan: Tokyo; India: New Delhi; Thailand: Bangkok; Vietnam: Hanoi;
        South Korea: Seoul;
        North Korea: Pyongyang; Mongolia: Ulaanbaatar; Nepal: Kathmandu; Pakistan: Islamabad;
        Bangladesh: Dhaka;
        Indonesia: Jakarta; Malaysia: Kuala Lumpur; the Philippines: Manila; Iran: Tehran; Iraq: Baghdad;
        Saudi Arabia: Riyadh; Jordan: Amman; Lebanon: Beirut; Turkey: Ankara; Afghanistan: Kabul; Qatar: Doha;
        Cambodia: Phnom Penh; Laos: Vientiane; Bhutan: Thimphu"""
    ),
    "Africa": table(
        """Egypt: Cairo; Kenya: Nairobi; Ethiopia: Addis Ababa; Nigeria: Abuja; Ghana: Accra; Morocco: Rabat;
        Algeria: Algiers; Tunisia: Tunis; Libya: Tripoli; Sudan: Khartoum; Senegal: Dakar; Mali: Bamako;
        Uganda: Kampala; Rwanda: Kigali; Tanzania: Dodoma; Zambia: Lusaka; Zimbabwe: Harare; Angola: Luanda;
        Mozambique: Maputo; Namibia: Windhoek; Madagascar: Antananarivo; South Africa: Pretoria"""
    ),
    "North America": table(
        """the United States: Washington; Canada: Ottawa; Mexico: Mexico City; Cuba: Havana;
        Jamaica: Kingston;
        Haiti: Port-au-Prince; Costa Rica: San Jose; Honduras: Tegucigalpa; Nicaragua: Managua"""
    ),
    "South America": table(
        """Brazil: Brasilia; Argentina: Buenos Aires; Chile: Santiago; Peru: Lima; Colombia: Bogota;
        Venezuela: Caracas; Ecuador: Quito; Bolivia: La Paz; Uruguay: Montevideo; Paraguay: Asuncion"""
    ),
    "Oceania": table("Australia: Canberra; New Zealand: Wellington; Fiji: Suva; Samoa: Apia"),
}
CAPITALS = {country: city for countries in COUNTRIES.values() for country, city in countries.items()}
CONTINENTS = {country: continent for continent, countries in COUNTRIES.items() for country in countries}

COLOURS = table(
    """the sky: blue; grass: green; snow: white; coal: black; a banana: yellow; a lemon: yellow; blood: red;
    an orange: orange; a carrot: orange; a tomato: red; a strawberry: red; chocolate: brown; milk: white;
    the sun: yellow; a frog: green; a flamingo: pink; a pig: pink; an elephant: grey; a mouse: grey;
    a crow: black;
    a swan: white; a lion: golden; a fox: orange; a leaf: green; a cucumber: green; an eggplant: purple;
    a grape: purple; a plum: purple; a cherry: red; a ruby: red; an emerald: green; a sapphire: blue;
    gold: yellow;
    silver: grey; the sea: blue; a fire truck: red; a school bus: yellow; salt: white; sugar: white;
    wood: brown;
    a polar bear: white; a raven: black; a canary: yellow; broccoli: green; spinach: green; a pumpkin: orange;
    a blueberry: blue; lavender: purple; cotton: white; honey: golden; charcoal: black; ash: grey;
    butter: yellow;
    a cactus: green"""
)
SOUNDS = table(
    """cat: meow; dog: woof; cow: moo; sheep: baa; pig: oink; duck: quack; lion: roar; horse: neigh;
    frog: ribbit;
    owl: hoot; bee: buzz; snake: hiss; rooster: cock-a-doodle-doo; mouse: squeak; wolf: howl; crow: caw;
    donkey: hee-haw; hen: cluck; goose: honk; chick: cheep; bear: growl; turkey: gobble; dove: coo;
    goat: bleat"""
)
YOUNG = table(
    """cat: kitten; dog: puppy; cow: calf; sheep: lamb; pig: piglet; duck: duckling; horse: foal; goat: kid;
    hen: chick; bear: cub; lion: cub; kangaroo: joey; frog: tadpole; swan: cygnet; goose: gosling; deer: fawn;
    rabbit: bunny; owl: owlet; eagle: eaglet; butterfly: caterpillar; whale: calf; elephant: calf; fox: kit;
    wolf: pup; seal: pup"""
)
LEGS = table(
    """cat: four; dog: four; cow: four; horse: four; spider: eight; ant: six; bee: six; beetle: six; fly: six;
    duck: two; hen: two; owl: two; eagle: two; snake: no; fish: no; worm: no; lobster: ten; crab: ten;
    frog: four;
    lizard: four; elephant: four; butterfly: six; penguin: two; scorpion: eight; whale: no"""
)
CLASSES = {
    animal: kind
    for kind, animals in {
        "a mammal": "cat dog cow horse whale dolphin bat elephant lion mouse bear kangaroo wolf rabbit",
        "a bird": "penguin owl duck hen swan crow parrot robin pigeon flamingo sparrow",
        "a fish": "shark salmon tuna trout goldfish herring",
        "a reptile": "snake lizard turtle crocodile gecko tortoise",
        "an insect": "bee fly butterfly beetle mosquito grasshopper",
        "an amphibian": "frog toad newt salamander",
    }.items()
    for animal in animals.split()
}
ELEMENTS = table(
    """hydrogen: H; helium: He; lithium: Li; carbon: C; nitrogen: N; oxygen: O; fluorine: F; neon: Ne;
    sodium: Na;
    magnesium: Mg; aluminium: Al; silicon: Si; phosphorus: P; sulfur: S; chlorine: Cl; argon: Ar;
    potassium: K;
    calcium: Ca; titanium: Ti; chromium: Cr; manganese: Mn; iron: Fe; cobalt: Co; nickel: Ni; copper: Cu;
    zinc: Zn;
    bromine: Br; silver: Ag; tin: Sn; iodine: I; platinum: Pt; gold: Au; mercury: Hg; lead: Pb; uranium: U;
    boron: B; krypton: Kr; radium: Ra; xenon: Xe; tungsten: W; arsenic: As; barium: Ba"""
)
_ONE_WAY_OPPOSITES = table(
    """hot: cold; big: small; up: down; happy: sad; fast: slow; day: night; black: white; left: right;
    light: dark;
    open: closed; full: empty; high: low; old: new; rich: poor; strong: weak; wet: dry; young: aged;
    clean: dirty;
    early: late; easy: hard; far: near; good: bad; heavy: weightless; in: out; inside: outside; long: short;
    loud: quiet; love: hate; more: less; north: south; east: west; on: off; over: under; push: pull;
    rough: smooth;
    safe: dangerous; sharp: blunt; sweet: sour; tall: tiny; thick: thin; tight: loose; true: false;
    wide: narrow;
    win: lose; yes: no; above: below; alive: dead; always: never; asleep: awake; begin: end; best: worst;
    brave: afraid;
    buy: sell; cheap: expensive; deep: shallow; friend: enemy; front: back; give: take; laugh: cry; many: few;
    polite: rude; top: bottom; war: peace; with: without; first: last; find: seek; float: sink; freeze: melt;
    arrive: leave; forget: remember; ugly: beautiful; noisy: silent; before: after; question: answer;
    summer: winter"""
)
OPPOSITES = _ONE_WAY_OPPOSITES | {y: x for x, y in _ONE_WAY_OPPOSITES.items()}

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = word_list("January February March April May June July August September October November December")
NEXT = {
    name: names[(place + 1) % len(names)]
    for names in (DAYS, MONTHS, ("spring", "summer", "autumn", "winter"))
    for place, name in enumerate(names)
}
DAYS_IN_MONTH = {
    month: "28 or 29" if month == "February" else "30" if month in ("April", "June", "September", "November") else "31"
    for month in MONTHS
}
ORDINAL_WORDS = word_list("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth")
ORDINALS = {
    f"{ordinal} {unit}": name
    for unit, names in (("day of the week", DAYS), ("month of the year", MONTHS))
    for ordinal, name in zip(ORDINAL_WORDS, names, strict=False)
}
UNITS = table(
    """seconds in a minute: 60; minutes in an hour: 60; hours in a day: 24; days in a week: 7;
    months in a year: 12;
    weeks in a year: 52; days in a year: 365; years in a decade: 10; years in a century: 100;
    years in a millennium: 1000; grams in a kilogram: 1000; metres in a kilometre: 1000;
    centimetres in a metre: 100; millimetres in a centimetre: 10; millimetres in a metre: 1000;
    millilitres in a litre: 1000; kilograms in a tonne: 1000; inches in a foot: 12; feet in a yard: 3;
    ounces in a pound: 16; cents in a dollar: 100; bits in a byte: 8; items in a dozen: 12;
    eggs in a dozen: 12;
    degrees in a circle: 360; degrees in a right angle: 90; sides in a triangle: 3; sides in a square: 4;
    sides in a hexagon: 6; minutes in half an hour: 30; seconds in an hour: 3600; cups in a pint: 2;
    pints in a quart: 2; quarts in a gallon: 4; letters in the alphabet: 26; continents in the world: 7;
    planets in the solar system: 8; months in a season: 3; days in a leap year: 366; seasons in a year: 4"""
)
GENERAL = {
    question.strip() + "?": answer.strip()
    for question, answer in (
        line.split("?")
        for line in """
What is the largest planet? The largest planet is Jupiter.
Which planet is closest to the sun? Mercury is closest to the sun.
Which planet is called the red planet? Mars is called the red planet.
What is the smallest planet? The smallest planet is Mercury.
Which planet has rings? Saturn has rings.
What is the largest ocean? The largest ocean is the Pacific.
What is the longest river? The longest river is the Nile.
What is the highest mountain? The highest mountain is Mount Everest.
What is the largest animal? The largest animal is the blue whale.
What is the fastest land animal? The fastest land animal is the cheetah.
What is the tallest animal? The tallest animal is the giraffe.
Who wrote Hamlet? William Shakespeare wrote Hamlet.
Who painted the Mona Lisa? Leonardo da Vinci painted the Mona Lisa.
Who was the first person on the moon? Neil Armstrong was the first person on the moon.
Who invented the telephone? Alexander Graham Bell invented the telephone.
Who discovered gravity? Isaac Newton discovered gravity.
Who developed the theory of relativity? Albert Einstein developed the theory of relativity.
What is water made of? Water is made of hydrogen and oxygen.
What do plants need to grow? Plants need water, light and air.
What do bees make? Bees make honey.
What is the largest country? The largest country is Russia.
What is the smallest country? The smallest country is Vatican City.
What is the largest desert? The largest desert is Antarctica.
At what temperature does water boil? Water boils at 100 degrees Celsius.
At what temperature does water freeze? Water freezes at 0 degrees Celsius.
What is the largest continent? The largest continent is Asia.
What is the smallest continent? The smallest continent is Oceania.
What language is spoken in France? French is spoken in France.
What language is spoken in Spain? Spanish is spoken in Spain.
What language is spoken in Germany? German is spoken in Germany.
What language is spoken in Japan? Japanese is spoken in Japan.
What language is spoken in Brazil? Portuguese is spoken in Brazil.
What language is spoken in Mexico? Spanish is spoken in Mexico.
What language is spoken in Egypt? Arabic is spoken in Egypt.
What do cows drink? Cows drink water.
What do pandas eat? Pandas eat bamboo.
What do caterpillars become? Caterpillars become butterflies.
Where do penguins live? Penguins live in the south.
What is ice? Ice is frozen water.
What is a group of wolves called? A group of wolves is called a pack.
What is a group of fish called? A group of fish is called a school.
What is a group of lions called? A group of lions is called a pride.
Which star is closest to the earth? The sun is closest to the earth.
How many players are in a football team? A football team has eleven players.
How many strings does a guitar have? A guitar has six strings.
How many strings does a violin have? A violin has four strings.
What is the hardest natural material? The hardest natural material is diamond.
Which gas do we breathe in? We breathe in oxygen.
Which organ pumps blood? The heart pumps blood.
What is the first letter of the alphabet? The first letter of the alphabet is A.
What is the last letter of the alphabet? The last letter of the alphabet is Z.
What do you use to write? You use a pen to write.
What do you use to cut paper? You use scissors to cut paper.
Where do fish live? Fish live in water.
What currency is used in Japan? The yen is used in Japan.
What currency is used in the United States? The dollar is used in the United States.
What currency is used in France? The euro is used in France.
What currency is used in the United Kingdom? The pound is used in the United Kingdom.
""".strip().splitlines()
    )
}
