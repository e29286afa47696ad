"""Words and a rhyme of each: those of instructions.py, the same the other way round, and more."""

from __future__ import annotations

from training.corpus import instructions
from training.corpus.fact_tables import table

_MORE = table(
    """mole: hole; pole: hole; nest: best; best: rest; test: west; rest: nest; mate: date; date: plate; rock: clock;
    lock: rock; block: sock; tea: sea; pea: tea; jar: far; far: jar; moth: cloth; snail: tail; mail: sail; rail: mail;
    coal: goal; goal: bowl; bowl: goal; jam: ham; ham: jam; kiss: miss; bus: plus; mud: bud; bud: mud; mug: jug;
    jug: bug; hug: rug; tub: club; club: tub; shop: stop; stop: shop; drop: crop; mop: top; rope: hope; tape: cape;
    cape: tape; shape: grape; lane: plane; plane: crane; crane: lane; pain: rain; grain: train; lawn: dawn; dawn: lawn;
    fork: pork; pork: fork; horse: force; force: horse; nurse: purse; purse: nurse; turn: burn; burn: turn;
    church: birch; shark: park; park: dark; dark: park; bark: shark; spark: park; heel: wheel; wheel: feel; feel: wheel;
    steel: wheel; money: honey; honey: money; bunny: funny; funny: bunny; sunny: funny; table: cable; cable: table;
    candle: handle; handle: candle; kettle: settle; kitten: mitten; mitten: kitten; jelly: belly; belly: jelly;
    berry: cherry; cherry: berry; merry: cherry; silly: chilly; parrot: carrot; carrot: parrot; rocket: pocket;
    pocket: rocket; letter: better; better: letter; butter: gutter; sister: twister; mother: brother; brother: mother;
    daughter: water; water: daughter; flower: tower; tower: flower; power: shower; shower: power; river: shiver;
    dinner: winner; winner: dinner; summer: drummer; drummer: summer; winter: splinter; spring: ring; string: spring;
    thing: ring; rabbit: habit; habit: rabbit; zoo: shoe; glue: blue; true: blue; me: tree; he: she; she: he; we: tree;
    why: fly; cry: sky; dry: cry; lie: pie; eye: sky; tie: pie; buy: tie; sale: tale; tale: whale; beat: seat;
    treat: meat; neat: feet; fat: cat; sat: mat; bit: hit; hit: sit; sit: hit; fit: sit; bin: tin; tin: pin; pin: tin;
    win: pin; thin: chin; fan: pan; pan: can; can: fan; map: cap; cap: map; nap: map; tap: cap; lap: tap; wig: pig;
    dig: wig; fig: dig; sled: bed; thread: bread; neck: deck; deck: neck; check: neck; smell: bell; spell: well;
    sell: bell; felt: belt; tent: cent; cent: tent; went: tent; vest: nest; west: best; chest: nest; guest: best;
    jet: net; pet: wet; vet: pet; set: jet; yes: dress; mess: dress; guess: mess; line: nine; mine: line; fine: wine;
    shine: line; vine: wine; pine: line; sign: line; life: wife; wife: knife; knife: life; drive: five; hive: five;
    mile: smile; smile: mile; pile: smile; tile: pile; while: smile; like: bike; bike: hike; hike: bike; spike: bike;
    dice: mice; price: rice; twice: mice; spice: rice; ride: side; side: wide; wide: ride; hide: ride; bride: side;
    right: light; sight: night; flight: night; knight: night; tight: light; shade: made; spade: shade; page: stage;
    stage: page; flame: game; same: name; ocean: motion; station: nation; nation: station; ladder: adder;
    puppet: muppet; picture: mixture; noodle: poodle; poodle: noodle; jungle: bungle; castle: hassle;
    feather: leather; leather: feather; weather: feather; paper: vapour; pillow: willow; willow: pillow; yellow: fellow;
    fellow: yellow; mellow: yellow; bubble: trouble; trouble: bubble; double: bubble; puddle: muddle;
    mountain: fountain; fountain: mountain; city: pretty; pretty: city; story: glory; glory: story; dragon: wagon;
    wagon: dragon; spider: cider; cider: spider; lizard: wizard; wizard: lizard; piano: soprano"""
)
_FIRST = instructions.RHYMES
RHYMES = {rhyme: word for word, rhyme in _FIRST.items()} | _MORE | _FIRST
