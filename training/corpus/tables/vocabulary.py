"""Words and what is known about them: opposites, and irregular plurals."""

from __future__ import annotations

from training.corpus import fact_tables
from training.corpus.fact_tables import table

_MORE_OPPOSITES = table(
    """ancient: modern; attack: defend; accept: refuse; add: subtract; arrival: departure; ascend: descend;
    beginning: ending; bitter: sweet; birth: death; bright: dim; busy: idle; calm: stormy; careful: careless;
    clever: stupid; combine: separate; create: destroy; curved: straight; dead: alive; difficult: simple;
    entrance: exit; even: odd; fail: succeed; fat: slim; fresh: stale; future: past; generous: stingy; guilty: innocent;
    heaven: hell; hero: coward; increase: decrease; import: export; junior: senior; king: queen; kind: cruel;
    lazy: hardworking; legal: illegal; lend: borrow; major: minor; male: female; maximum: minimum; morning: evening;
    mother: father; natural: artificial; normal: strange; often: rarely; optimist: pessimist; permanent: temporary;
    plus: minus; possible: impossible; present: absent; private: public; pro: con; profit: loss; quick: sluggish;
    real: fake; right: wrong; same: different; send: receive; shout: whisper; shiny: dull; show: hide; sick: healthy;
    sister: brother; sit: stand; soft: firm; spend: save; start: stop; sunny: cloudy; sunrise: sunset; teach: learn;
    together: apart; truth: lie; useful: useless; vertical: horizontal; victory: defeat; visible: invisible;
    weak: strong; wise: foolish; work: play; lock: unlock; lucky: unlucky; man: woman; boy: girl; husband: wife;
    son: daughter; uncle: aunt; fair: unfair; nice: nasty; everything: nothing; everyone: nobody; inner: outer;
    upstairs: downstairs; forward: backward; here: there; now: then; tame: wild; raw: cooked; solid: liquid;
    expand: shrink; export: import; build: demolish; agree: disagree; appear: disappear; honest: dishonest;
    patient: impatient; married: single; noise: silence; pain: pleasure; hope: despair; rise: fall; raise: lower"""
)
_CHANGED = table(
    """young: old; tall: short; heavy: light; right: left; hard: soft; difficult: easy; boring: interesting;
    interesting: boring; big: small; large: small; little: big; huge: tiny; tiny: huge; start: stop; finish: start;
    brave: cowardly; cowardly: brave; aged: young; weightless: heavy; king: queen; silent: noisy; smart: stupid;
    stupid: smart; sweet: sour; cool: warm; warm: cool; glad: sad; angry: calm; calm: angry"""
)
OPPOSITES = {y: x for x, y in _MORE_OPPOSITES.items()} | _MORE_OPPOSITES | fact_tables.OPPOSITES | _CHANGED

PLURALS = table(
    """mouse: mice; foot: feet; tooth: teeth; goose: geese; man: men; woman: women; child: children; ox: oxen;
    person: people; knife: knives; leaf: leaves; wolf: wolves; wife: wives; life: lives; half: halves; shelf: shelves;
    thief: thieves; loaf: loaves; calf: calves; sheep: sheep; fish: fish; deer: deer; baby: babies; city: cities;
    country: countries; lady: ladies; party: parties; story: stories; fly: flies; family: families; box: boxes;
    bus: buses; glass: glasses; watch: watches; dish: dishes; church: churches; potato: potatoes; tomato: tomatoes;
    hero: heroes; piano: pianos; photo: photos; cat: cats; dog: dogs; car: cars; house: houses; book: books;
    tree: trees; day: days; boy: boys; key: keys; toy: toys; apple: apples; egg: eggs; bird: birds; horse: horses;
    cow: cows; table: tables; pen: pens; cactus: cacti; crisis: crises"""
)
