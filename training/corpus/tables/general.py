"""General knowledge: an answer, then noun phrases ("-") and questions ("?") that ask for it."""

from __future__ import annotations

from training.corpus.fact_tables import table

FACTS = """
The largest planet is Jupiter.
- the [largest|biggest|hugest] planet[| in the solar system| of all| of our solar system| of the sun]
? [Which|What] planet is [the|] [largest|biggest][| one| of all| in the solar system]? => which planet is the largest
Mercury is closest to the sun.
- the planet [closest|nearest] to the sun
- the sun's [closest|nearest] planet
? [Which|What] planet is [the|] [closest|nearest] to the sun? => which planet is [closest|nearest] to the sun
Mars is called the red planet.
- the red planet
- the planet [called|known as] the red [planet|one]
? [Which|What] planet is [called|known as|nicknamed] the red planet? => which planet is called the red planet
The smallest planet is Mercury.
- the [smallest|tiniest|littlest] planet[| in the solar system| of all]
? [Which|What] planet is [the|] [smallest|tiniest]? => which planet is the smallest
Saturn has rings.
- the planet [with|that has] rings[| around it]
? [Which|What] planet [has|wears] rings[| around it]? => which planet has rings
The largest ocean is the Pacific.
- the [largest|biggest|widest] ocean[| on earth| in the world| of all| of the world]
? [Which|What] ocean is [the|] [largest|biggest]? => which ocean is the [largest|biggest]
The longest river is the Nile.
- the longest river[| on earth| in the world| of all]
- the world's longest river
? [Which|What] river is [the|] longest? => which river is the longest
The highest mountain is Mount Everest.
- the [highest|tallest] [mountain|peak][| on earth| in the world| of all]
- the world's [highest|tallest] mountain
? [Which|What] mountain is [the|] [highest|tallest]? => which mountain is the [highest|tallest]
The largest animal is the blue whale.
- the [largest|biggest|heaviest] animal[| on earth| in the world| of all| alive]
- the world's [largest|biggest] animal
? [Which|What] animal is [the|] [largest|biggest]? => which animal is the [largest|biggest]
The fastest land animal is the cheetah.
- the [fastest|quickest] [land animal|animal on land|runner among animals]
? [Which|What] [land animal|animal on land] [is|runs] [the|] fastest? => which land animal is the fastest
The tallest animal is the giraffe.
- the tallest animal[| on earth| in the world| of all| alive]
? [Which|What] animal is [the|] tallest? => which animal is the tallest
William Shakespeare wrote Hamlet.
- the [author|writer] of Hamlet
- Hamlet's author
? Who [wrote|is the author of|penned] Hamlet? => who wrote Hamlet
? [By whom was Hamlet written|Hamlet was written by whom|Hamlet is by whom]? => by whom Hamlet was written
Leonardo da Vinci painted the Mona Lisa.
- the painter of the Mona Lisa
- the [artist|man] [who painted|behind] the Mona Lisa
? Who [painted|made|created] [the|] Mona Lisa? => who painted the Mona Lisa
? [By whom was the Mona Lisa painted|The Mona Lisa was painted by whom]? => by whom the Mona Lisa was painted
Neil Armstrong was the first person on the moon.
- the first [person|man|human|astronaut] on the moon
? Who was [the|] first [person|man|human|one|] [on|to walk on|to stand on] the moon? => who was first on the moon
? Who [walked|stepped|landed] on the moon first? => who [walked|stepped] on the moon first
Alexander Graham Bell invented the telephone.
- the inventor of the [telephone|phone]
? Who [invented|is the inventor of|made the first] [the|] telephone? => who invented the [telephone|phone]
? By whom was the telephone invented? => by whom the telephone was invented
Isaac Newton discovered gravity.
- the [discoverer of gravity|man who discovered gravity]
? Who [discovered|found|found out about] gravity? => who discovered gravity
Albert Einstein developed the theory of relativity.
- the [author|father|inventor] of the theory of relativity
? Who [developed|invented|came up with|is behind] the theory of relativity? => who developed the theory of relativity
Water is made of hydrogen and oxygen.
- the [elements|parts] water is made of
? What is water [made of|composed of|made from|made up of]? => what water is made of
? What does water consist of? => what water consists of
? [What|Which] elements [are in|make up] water? => which elements make up water
Plants need water, light and air.
- the things plants need[| to grow]
? What do plants need[| to grow| to live]? => what plants need[| to grow]
? What does a plant need[| to grow| to live]? => what a plant needs[| to grow]
Bees make honey.
- the food [bees make|made by bees]
? What do bees [make|produce]? => what bees [make|produce]
? What does a bee [make|produce]? => what a bee [makes|produces]
The largest country is Russia.
- the [largest|biggest] country[| on earth| in the world| of all| by area]
- the world's [largest|biggest] country
? [Which|What] country is [the|] [largest|biggest]? => which country is the [largest|biggest]
The smallest country is Vatican City.
- the [smallest|tiniest] country[| on earth| in the world| of all]
- the world's smallest country
? [Which|What] country is [the|] smallest? => which country is the smallest
The largest desert is Antarctica.
- the [largest|biggest] desert[| on earth| in the world| of all]
? [Which|What] desert is [the|] [largest|biggest]? => which desert is the [largest|biggest]
Water boils at 100 degrees Celsius.
- the boiling [point|temperature] of water
? [At|] [which|what] temperature [does|will] water boil[| at]? => at what temperature water boils
? When does water boil? => when water boils
? How hot [is|must be|does] [boiling water|water to boil]? => how hot boiling water is
Water freezes at 0 degrees Celsius.
- the freezing [point|temperature] of water
? [At|] [which|what] temperature [does|will] water freeze[| at]? => at what temperature water freezes
? When does water freeze? => when water freezes
? [When|At what temperature] does water [turn to|become] ice? => when water [turns to|becomes] ice
The largest continent is Asia.
- the [largest|biggest] continent[| on earth| of all]
? [Which|What] continent is [the|] [largest|biggest]? => which continent is the [largest|biggest]
The smallest continent is Oceania.
- the smallest continent[| on earth| of all]
? [Which|What] continent is [the|] smallest? => which continent is the smallest
Cows drink water.
- the drink of cows
? What do cows drink? => what cows drink
? What does a cow drink? => what a cow drinks
Pandas eat bamboo.
- the food of pandas
? What do pandas [eat|live on|feed on]? => what pandas eat
? What does a panda eat? => what a panda eats
Caterpillars become butterflies.
? What do caterpillars [become|turn into|change into|grow into]? => what caterpillars [become|turn into]
? What does a caterpillar [become|turn into|change into]? => what a caterpillar [becomes|turns into]
Penguins live in the south.
? Where do penguins live? => where penguins live
? Where [does a penguin live|can I find penguins]? => where [a penguin lives|I can find penguins]
Ice is frozen water.
? What is ice[| made of]? => what ice is[| made of]
A group of wolves is called a pack.
- the [name|word] for a group of wolves
? What [is a group of wolves called|do you call a group of wolves]? => what a group of wolves is called
? What do you call [many|several] wolves together? => what you call many wolves together
A group of fish is called a school.
- the [name|word] for a group of fish
? What [is a group of fish called|do you call a group of fish]? => what a group of fish is called
A group of lions is called a pride.
- the [name|word] for a group of lions
? What [is a group of lions called|do you call a group of lions]? => what a group of lions is called
A group of cows is called a herd.
- the [name|word] for a group of cows
? What [is a group of cows called|do you call a group of cows]? => what a group of cows is called
A group of birds is called a flock.
- the [name|word] for a group of birds
? What [is a group of birds called|do you call a group of birds]? => what a group of birds is called
A group of bees is called a swarm.
- the [name|word] for a group of bees
? What [is a group of bees called|do you call a group of bees]? => what a group of bees is called
The sun is closest to the earth.
- the star [closest|nearest] to [the earth|earth|us]
? [Which|What] star is [the|] [closest|nearest] to [the earth|earth|us]? => which star is closest to the earth
A football team has eleven players.
- the number of players [in|on|of] a football team
? How many players [are|play] [in|on] a [football|soccer] team? => how many players are in a football team
? How many players does a [football|soccer] team have? => how many players a football team has
A guitar has six strings.
- the number of strings [of|on] a guitar
? How many strings [does a guitar have|has a guitar|are on a guitar]? => how many strings a guitar has
A violin has four strings.
- the number of strings [of|on] a violin
? How many strings [does a violin have|has a violin|are on a violin]? => how many strings a violin has
The hardest natural material is diamond.
- the hardest [natural|] [material|substance|stone][| on earth| in nature]
? [Which|What] [natural|] [material|substance|stone] is [the|] hardest? => which material is the hardest
We breathe in oxygen.
- the gas [we|people|humans] breathe[| in]
? [Which|What] gas do [we|people|humans|you] breathe[| in]? => which gas we breathe[| in]
The heart pumps blood.
- the organ that pumps [the|] blood
? [Which|What] [organ|part of the body] pumps [the|our|] blood? => which organ pumps blood
The first letter of the alphabet is A.
- the first letter [of|in] the alphabet
? [Which|What] letter is [the|] first[| in the alphabet]? => which letter is the first
? [Which|What] letter does the alphabet [begin|start] with? => which letter the alphabet [begins|starts] with
The last letter of the alphabet is Z.
- the last letter [of|in] the alphabet
? [Which|What] letter is [the|] last[| in the alphabet]? => which letter is the last
? [Which|What] letter does the alphabet end with? => which letter the alphabet ends with
You use a pen to write.
- the thing you [write with|use to write]
? What do [you|we|people] [use to write|write with]? => what [you|we] [use to write|write with]
You use scissors to cut paper.
- the [tool|thing] you [cut paper with|use to cut paper]
? What do [you|we|people] [use to cut|cut] paper[| with]? => what you [use to cut paper|cut paper with]
Fish live in water.
? Where do fish live? => where fish live
? Where does a fish live? => where a fish lives
A rainbow has seven colours.
- the number of colours [of|in] [a|the] rainbow
? How many [colours|colors] [does a rainbow have|has a rainbow|are in a rainbow]? => how many colours a rainbow has
Spiders spin webs.
? What do spiders [spin|make|build|weave]? => what spiders [spin|make|build]
? What does a spider [spin|make|build]? => what a spider [spins|makes|builds]
The Earth goes around the sun.
? What does the [earth|Earth] [go|turn|travel|move|circle] around? => what the earth goes around
? Around what does the earth [go|turn|travel]? => around what the earth goes
The moon goes around the Earth.
? What does the moon [go|turn|travel|move] around? => what the moon goes around
The coldest continent is Antarctica.
- the [coldest|frozen|icy] continent
? [Which|What] continent is [the|] coldest? => which continent is the coldest
Beethoven composed the Moonlight Sonata.
- the composer of the Moonlight Sonata
? Who [composed|wrote] the Moonlight Sonata? => who [composed|wrote] the Moonlight Sonata
Christopher Columbus sailed to America in 1492.
- the man who sailed to America in 1492
? Who [sailed to|reached|discovered] America in 1492? => who [sailed to|reached] America in 1492
Wood comes from trees.
? Where does wood come from? => where wood comes from
Milk comes from cows.
? Where does milk come from? => where milk comes from
Bread is made of flour.
? What is bread made [of|from]? => what bread is made [of|from]
Wine is made of grapes.
? What is wine made [of|from]? => what wine is made [of|from]
Cheese is made of milk.
? What is cheese made [of|from]? => what cheese is made [of|from]
Rabbits eat grass.
? What [do rabbits|does a rabbit] eat? => what rabbits eat
The Eiffel Tower is in Paris.
- the city with the Eiffel Tower
? Where is the Eiffel Tower? => where the Eiffel Tower is
? In [which|what] city is the Eiffel Tower? => in which city the Eiffel Tower is
Big Ben is in London.
? Where is Big Ben? => where Big Ben is
The Colosseum is in Rome.
? Where is the Colosseum? => where the Colosseum is
The pyramids are in Egypt.
? Where are the pyramids? => where the pyramids are
The Statue of Liberty is in New York.
? Where is the Statue of Liberty? => where the Statue of Liberty is
"""

LANGUAGES = table(
    """France: French; Spain: Spanish; Germany: German; Japan: Japanese; Brazil: Portuguese; Mexico: Spanish;
    Egypt: Arabic; Italy: Italian; Portugal: Portuguese; Greece: Greek; Russia: Russian; China: Chinese; Poland: Polish;
    Turkey: Turkish; Sweden: Swedish; Norway: Norwegian; Denmark: Danish; the Netherlands: Dutch; Hungary: Hungarian;
    Austria: German; Argentina: Spanish; Cuba: Spanish; Peru: Spanish; Chile: Spanish; Colombia: Spanish;
    the United Kingdom: English; the United States: English; Australia: English; Finland: Finnish; Iran: Persian;
    Thailand: Thai; Vietnam: Vietnamese; Romania: Romanian; Ukraine: Ukrainian; Iceland: Icelandic; Iraq: Arabic;
    Morocco: Arabic; Saudi Arabia: Arabic; Czechia: Czech; South Korea: Korean"""
)
CURRENCIES = table(
    """Japan: yen; the United States: dollar; France: euro; the United Kingdom: pound; Germany: euro; Italy: euro;
    Spain: euro; Austria: euro; Greece: euro; Ireland: euro; the Netherlands: euro; Portugal: euro; Finland: euro;
    Belgium: euro; Canada: Canadian dollar; Australia: Australian dollar; Mexico: peso; India: rupee; China: yuan;
    Russia: rouble; Switzerland: franc; Sweden: krona; Norway: krone; Denmark: krone; Poland: zloty; Brazil: real;
    Turkey: lira; South Korea: won; South Africa: rand; Egypt: Egyptian pound; Argentina: peso; Thailand: baht"""
)
