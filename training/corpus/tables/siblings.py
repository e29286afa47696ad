"""Facts that are asked for one after the other: an answer, and short names by which a second question asks for it."""

from __future__ import annotations

# A blank line ends a family of facts. The short names are a grammar.
SIBLINGS = """
The largest planet is Jupiter. = the [largest|biggest][| one| planet]
The smallest planet is Mercury. = the [smallest|tiniest][| one| planet]
Mercury is closest to the sun. = the [planet|one] [closest|nearest] to the sun
Mars is called the red planet. = the red [planet|one]
Saturn has rings. = the one with [the|] rings

The largest country is Russia. = the [largest|biggest][| one| country]
The smallest country is Vatican City. = the [smallest|tiniest][| one| country]

The largest continent is Asia. = the [largest|biggest][| one| continent]
The smallest continent is Oceania. = the smallest[| one| continent]
The coldest continent is Antarctica. = the coldest[| one| continent]

The largest ocean is the Pacific. = the [largest|biggest] ocean
The longest river is the Nile. = the longest river
The highest mountain is Mount Everest. = the [highest|tallest] mountain
The largest desert is Antarctica. = the [largest|biggest] desert

The largest animal is the blue whale. = the [largest|biggest|heaviest][| one| animal]
The fastest land animal is the cheetah. = the fastest[| one| on land| land animal]
The tallest animal is the giraffe. = the tallest[| one| animal]

Water boils at 100 degrees Celsius. = [to boil|boiling|the boiling point]
Water freezes at 0 degrees Celsius. = [to freeze|freezing|the freezing point]

A group of wolves is called a pack. = [of|] wolves
A group of fish is called a school. = [of|] fish
A group of lions is called a pride. = [of|] lions
A group of cows is called a herd. = [of|] cows
A group of birds is called a flock. = [of|] birds
A group of bees is called a swarm. = [of|] bees

A guitar has six strings. = a guitar
A violin has four strings. = a violin

The first letter of the alphabet is A. = the first [one|letter]
The last letter of the alphabet is Z. = the last [one|letter]

Wood comes from trees. = wood
Milk comes from cows. = milk

Bread is made of flour. = bread
Wine is made of grapes. = wine
Cheese is made of milk. = cheese
Water is made of hydrogen and oxygen. = water

Pandas eat bamboo. = [pandas|a panda]
Rabbits eat grass. = [rabbits|a rabbit]

Bees make honey. = bees
Spiders spin webs. = spiders

The Eiffel Tower is in Paris. = the Eiffel Tower
Big Ben is in London. = Big Ben
The Colosseum is in Rome. = the Colosseum
The pyramids are in Egypt. = the pyramids
The Statue of Liberty is in New York. = the Statue of Liberty

The Earth goes around the sun. = the earth
The moon goes around the Earth. = the moon

Alexander Graham Bell invented the telephone. = the [telephone|phone]
Isaac Newton discovered gravity. = gravity
Albert Einstein developed the theory of relativity. = the theory of relativity

William Shakespeare wrote Hamlet. = Hamlet
Leonardo da Vinci painted the Mona Lisa. = the Mona Lisa
Beethoven composed the Moonlight Sonata. = the Moonlight Sonata

Penguins live in the south. = penguins
Fish live in water. = fish

You use a pen to write. = to write
You use scissors to cut paper. = to cut paper
"""
AFTER_THAT = """
[And|And what comes|What comes|What is|And which comes|Which comes|Then] after [that|that one|this one|it][?|]
[And|What about|What is|And what is] the [next|next one|one after|one after that|following one][?|]
[And|] then[?|]
[And|What|Which one] [comes|is|follows] [next|then|after that][?|]
[One|And one] [more|further][?|.|, please.]
[Ok|Thanks|Right|Good][,|.|!] [and|] [next|after that|the next one|then][?|]
* [Go on|Carry on], which one follows[?|]
"""
ANOTHER_SUM = """
[And|What about|How about|And what is|Now|Then|Next|And how much is|Ok, and|Thanks, and|Good. Now] {x}[?|]
{x}[?|]
[And|Now] [can you do|do|work out|solve|try] {x}[?|.|, please.]
[And|] [what's|whats] {x} [then|now|][?|]
[No|Oh|Oops|Sorry|Wait][,|] [I meant|I mean|make that] {x}[.|?|]
[One more|Another one|Next one|New one|Another]: {x}[?|.|]
* [Next sum|My next one], please: {x}[.|]
"""
AND_FOR = """
[And|What about|How about|Now|Next|And now|Then|And for|Also] {x}[?|.|, please.|]
{x}[?|, please.| too| as well|]
[And|Ok, and|Thanks, and|Great, and|Good, now|Now] {x}[?|.|, please.|]
[The same|Same] [for|with] {x}[.|, please.|?|]
[Do|Try] [the same|it|that] [for|with] {x}[.|, please.|]
[Thanks|Great|Good|Nice|Cool][!|.] [And|Now|Next] {x}[?|.]
* [Next|My next] [word|one] is {x}[.|]
"""
