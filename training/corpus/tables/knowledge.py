"""More wordings for the facts of general.py: an answer that stands there, then phrases and questions as there."""

from __future__ import annotations

WORDINGS = """
The largest planet is Jupiter.
- the planet [that is bigger than all others|of the largest size|with the biggest size]
? [Which|What] [is|of the planets is|of all planets is] the [biggest|largest]? => which planet is the [biggest|largest]
? No planet is [bigger|larger] than [which one|which|what]?
Mercury is closest to the sun.
? [Which|What] [planet comes first|planet is first|is the first planet] [counted|] from the sun? => which planet \
comes first from the sun
? [Which|What] planet [has the shortest way to|is next to|goes around closest to] the sun? => which planet is next to \
the sun
Mars is called the red planet.
? [Which|What] [of the planets|planet] [looks|is|appears] red? => which planet looks red
? [People|They|We] call [which|what] planet the red [one|planet]?
The smallest planet is Mercury.
? [Which|What] [of the planets is|of all planets is|is] the [smallest|tiniest] [one|planet]? => which of the planets \
is the smallest
Saturn has rings.
? [Which|What] planet is [famous|known] for its rings? => which planet is [famous|known] for its rings
? [Around|Round] which planet are there rings? => around which planet there are rings
The largest ocean is the Pacific.
? [Which|What] [of the oceans|ocean] [covers the most|has the most water|is the widest]? => which ocean has the most \
water
? No ocean is [bigger|larger] than [which|which one|what]?
The longest river is the Nile.
? [Which|What] river [flows the furthest|has the greatest length|is longer than all others]? => which river has the \
greatest length
? No river is longer than [which|which one|what]?
The highest mountain is Mount Everest.
? [Which|What] [mountain|peak|summit] [rises highest|reaches highest|is above all others]? => which mountain rises \
highest
? No mountain is higher than [which|which one|what]?
The largest animal is the blue whale.
? [Which|What] [creature|living thing|beast] is the [biggest|largest|heaviest]? => which creature is the largest
? No animal is [bigger|larger|heavier] than [which|which one|what]?
The fastest land animal is the cheetah.
? [Which|What] animal [runs|can run] [the|] [fastest|quickest]? => which animal runs the fastest
The tallest animal is the giraffe.
? [Which|What] [creature|beast|animal] [stands|grows|is] the [tallest|highest]? => which animal grows the tallest
? No animal is taller than [which|which one|what]?
William Shakespeare wrote Hamlet.
? [Which|What] [author|writer|poet|playwright] [wrote|gave us|created] [Hamlet|the play Hamlet]? => which author \
wrote Hamlet
? [Whose|Who is the author whose] play is Hamlet? => whose play Hamlet is
Leonardo da Vinci painted the Mona Lisa.
? [Which|What] [painter|artist] [painted|made|created] the Mona Lisa? => which painter painted the Mona Lisa
? Whose [painting|picture|work] is the Mona Lisa? => whose painting the Mona Lisa is
Neil Armstrong was the first person on the moon.
? [Which|What] [astronaut|man|person] [set foot|walked|was|stood] on the moon [first|before all others]? => which \
astronaut walked on the moon first
Alexander Graham Bell invented the telephone.
? [Which|What] [man|inventor|person] [gave us|invented|came up with|thought up] the [phone|telephone]? => which man \
invented the telephone
? Whose invention is the [phone|telephone]? => whose invention the telephone is
Isaac Newton discovered gravity.
? [Which|What] [scientist|man|physicist] [discovered|described|found] gravity? => which scientist discovered gravity
Albert Einstein developed the theory of relativity.
? [Which|What] [scientist|physicist|man] [developed|found|came up with] the theory of relativity? => which scientist \
developed the theory of relativity
? Whose theory is relativity? => whose theory relativity is
Water is made of hydrogen and oxygen.
? [From|Of] [which|what] [elements|two elements|gases|substances] is water made? => of which elements water is made
? What is [in|inside] a water molecule? => what is in a water molecule
Plants need water, light and air.
? Without what do plants die? => without what plants die
? What [must|should] I give [a plant|my plants|plants]? => what I must give my plants
Bees make honey.
? [Which|What] food [comes from|do we get from|is made by] bees? => which food comes from bees
The largest country is Russia.
? [Which|What] [country|state|nation] [covers the most land|has the largest area|has the most land]? => which country \
has the largest area
? No country is [bigger|larger] than [which|which one|what]?
The smallest country is Vatican City.
? [Which|What] [country|state|nation] [has the smallest area|is the tiniest|has the least land]? => which country is \
the tiniest
? No country is smaller than [which|which one|what]?
Water boils at 100 degrees Celsius.
? [How many degrees|How hot] [must water be|does water have to be|does it take] [to boil|before it boils]? => how hot \
water must be to boil
? Water boils at [how many|what number of|which] degrees?
Water freezes at 0 degrees Celsius.
? [How many degrees|How cold] [must water be|does water have to be] to [freeze|become ice]? => how cold water must be \
to freeze
? Water [freezes|turns to ice] at [how many|what number of|which] degrees?
The largest continent is Asia.
? No continent is [bigger|larger] than [which|which one|what]?
? [Which|What] continent [has the most land|covers the most land|has the greatest area]? => which continent has the \
most land
The smallest continent is Oceania.
? No continent is smaller than [which|which one|what]?
? [Which|What] continent [has the least land|is the tiniest|has the smallest area]? => which continent is the tiniest
Cows drink water.
? [What|Which drink] [should|do] I give [a thirsty cow|thirsty cows|my cow to drink]? => what I should give a thirsty \
cow
? A [cow|thirsty cow] drinks what?
Pandas eat bamboo.
? [Which|What] [plant|food] do pandas [eat|love|live on]? => which plant pandas eat
? [A panda|The panda] [eats|lives on|chews] what?
Caterpillars become butterflies.
? [Which|What] [animal|insect] grows from a caterpillar?
? A caterpillar [turns into|becomes|will be] what[ one day| later|]?
Penguins live in the south.
? [In which part of the world|Where on earth] [are|can one see|do you find] penguins? => where on earth penguins are
Ice is frozen water.
? [Of what|What] [does ice consist of|is ice in fact|is ice really]? => what ice is really
? Ice is [what|frozen what|what exactly]?
A group of wolves is called a pack.
? [How|What] do you [name|call] wolves [in a group|that hunt together|together]? => what you call wolves in a group
A group of fish is called a school.
? [How|What] do you [name|call] [many|a lot of] fish [in a group|that swim together|together]? => what you call many \
fish together
A group of lions is called a pride.
? [How|What] do you [name|call] lions [in a group|that live together|together]? => what you call lions in a group
A group of cows is called a herd.
? [How|What] do you [name|call] [many|a lot of] cows [in a group|together|on a field]? => what you call many cows \
together
A group of birds is called a flock.
? [How|What] do you [name|call] [many|a lot of] birds [in a group|together|that fly together]? => what you call many \
birds together
A group of bees is called a swarm.
? [How|What] do you [name|call] [many|a lot of] bees [in a group|together|that fly together]? => what you call many \
bees together
The sun is closest to the earth.
? [Which|What] star [gives us light by day|do we see by day|shines by day]? => which star shines by day
A football team has eleven players.
? [With how many players|How many players] [does a football team play|make up a football team|form a soccer team]? => \
how many players form a football team
A guitar has six strings.
? [With|On] how many strings [does one play a guitar|is a guitar played]? => how many strings a guitar is played on
A violin has four strings.
? [With|On] how many strings [does one play a violin|is a violin played]? => how many strings a violin is played on
The hardest natural material is diamond.
? [Which|What] [stone|gem|material] [cuts glass and everything else|is harder than all others]? => which material is \
harder than all others
? Nothing in nature is harder than what?
We breathe in oxygen.
? [Which|What] [gas|part of the air] do [our lungs|humans|we] need[ to live|]? => which gas humans need
? [Which|What] gas [is in the air we need|keeps us alive|do lungs take in]? => which gas keeps us alive
The heart pumps blood.
? [What|Which organ] [keeps the blood moving|drives the blood|moves the blood] [in|through] [our|the] body? => which \
organ moves the blood through the body
The first letter of the alphabet is A.
? [With which|With what] letter does the [ABC|alphabet] [begin|start]? => with which letter the alphabet begins
The last letter of the alphabet is Z.
? [With which|With what] letter does the [ABC|alphabet] [end|finish|stop]? => with which letter the alphabet ends
You use a pen to write.
? [Which thing|What] do [I|pupils] [need|take|hold] to write[ a letter| on paper|]? => what I need to write
You use scissors to cut paper.
? [Which tool|What] do I [need|take|use] to cut [paper|a sheet of paper]? => which tool I need to cut paper
Fish live in water.
? [In what|Where] do [fish|fishes] [swim|live and breathe|spend their life]? => where fish spend their life
A rainbow has seven colours.
? [Of|From] how many [colours|colors] is a rainbow made? => of how many colours a rainbow is made
Spiders spin webs.
? [With what|What] do spiders [catch flies in|hang in the corner|weave for flies]? => what spiders weave for flies
The Earth goes around the sun.
? [Around which star|Round what] does [the earth|our planet] [move|travel|circle|go]? => around which star the earth \
moves
The moon goes around the Earth.
? [Around which planet|Round what] does the moon [move|travel|circle|go]? => around which planet the moon moves
The coldest continent is Antarctica.
? [On which|On what] continent is it [coldest|the coldest]? => on which continent it is coldest
Beethoven composed the Moonlight Sonata.
? [Which|What] composer [wrote|composed|gave us] the Moonlight Sonata? => which composer wrote the Moonlight Sonata
? Whose [work|music|piece] is the Moonlight Sonata? => whose work the Moonlight Sonata is
Christopher Columbus sailed to America in 1492.
? [Which|What] [sailor|man|explorer] [sailed to|reached] America in 1492? => which sailor reached America in 1492
Wood comes from trees.
? [From what|From which plants] [do we get|does one get|comes] wood? => from what we get wood
Milk comes from cows.
? [Which|What] animal [gives|makes] [us|] milk? => which animal gives milk
? [From which animal|From what] do we get milk? => from which animal we get milk
Bread is made of flour.
? From what [do bakers make bread|is bread baked|do we bake bread]? => what bread is baked from
Wine is made of grapes.
? [From which|From what] [fruit|fruits] [is wine made|do we make wine]? => from which fruit wine is made
Cheese is made of milk.
? [From what|Out of what] [is cheese made|do people make cheese]? => from what cheese is made
Rabbits eat grass.
? [What|Which food] [does my rabbit eat|do rabbits like|should I give my rabbit|do rabbits live on]? => what rabbits \
like
The Eiffel Tower is in Paris.
? [Where|In which city|In what town] [can I see|does one find|do I visit|stands] the Eiffel Tower? => where I can see \
the Eiffel Tower
? [Which|What] city [has|is home to|is famous for] the Eiffel Tower? => which city has the Eiffel Tower
Big Ben is in London.
? [Where|In which city] [can I see|does one find|do I visit|stands] Big Ben? => where I can see Big Ben
? [Which|What] city [has|is home to|is famous for] Big Ben? => which city has Big Ben
The Colosseum is in Rome.
? [Where|In which city] [can I see|does one find|do I visit|stands] the Colosseum? => where I can see the Colosseum
? [Which|What] city [has|is home to|is famous for] the Colosseum? => which city has the Colosseum
The pyramids are in Egypt.
? [Where|In which country] [can I see|does one find|do I visit|stand] the pyramids? => where I can see the pyramids
? [Which|What] country [has|is home to|is famous for] the pyramids? => which country has the pyramids
The Statue of Liberty is in New York.
? [Where|In which city] [can I see|does one find|do I visit|stands] the Statue of Liberty? => where I can see the \
Statue of Liberty
? [Which|What] city [has|is home to|is famous for] the Statue of Liberty? => which city has the Statue of Liberty
The heart pumps blood.
? What does [the|a|our|my] heart do[| all day| in the body]? => what the heart does
? [What is the heart for|What's the job of the heart|What is the heart's job]? => what the heart is for
William Shakespeare wrote Hamlet.
? What [did [William|] Shakespeare write|is Shakespeare known for|is Shakespeare famous for]? => what Shakespeare wrote
Leonardo da Vinci painted the Mona Lisa.
? What [did Leonardo da Vinci paint|is Leonardo da Vinci known for]? => what Leonardo da Vinci painted
Alexander Graham Bell invented the telephone.
? What [did [Alexander Graham|] Bell invent|is Alexander Graham Bell known for]? => what Bell invented
Isaac Newton discovered gravity.
? What [did [Isaac|] Newton discover|is Isaac Newton known for]? => what Newton discovered
Albert Einstein developed the theory of relativity.
? [What theory|Which theory|What] did [Albert|] Einstein [develop|come up with]? => what Einstein developed
Beethoven composed the Moonlight Sonata.
? [What|Which sonata] did Beethoven compose? => what Beethoven composed
Christopher Columbus sailed to America in 1492.
? Where did [Christopher|] Columbus sail[| to| in 1492]? => where Columbus sailed
? [When|In which year] did [Christopher|] Columbus [sail to|reach|get to] America? => when Columbus sailed to America
Neil Armstrong was the first person on the moon.
? [What is Neil Armstrong known for|What did Neil Armstrong do first]? => what Neil Armstrong is known for
A group of lions is called a pride.
- the [word|name] for [many|several|a bunch of|a family of] lions
? [What's|What is] [a bunch|a family|a lot] of lions [called|known as]? => what a bunch of lions is called
A group of wolves is called a pack.
- the [word|name] for [many|several|a bunch of|a family of] wolves
? [What's|What is] [a bunch|a family|a lot] of wolves [called|known as]? => what a bunch of wolves is called
A group of fish is called a school.
- the [word|name] for [many|several|a bunch of|a lot of] fish
? [What's|What is] [a bunch|a lot|a crowd] of fish [called|known as]? => what a bunch of fish is called
A group of cows is called a herd.
- the [word|name] for [many|several|a bunch of|a lot of] cows
? [What's|What is] [a bunch|a lot|a field full] of cows [called|known as]? => what a bunch of cows is called
A group of birds is called a flock.
- the [word|name] for [many|several|a bunch of|a lot of] birds
? [What's|What is] [a bunch|a lot|a crowd] of birds [called|known as]? => what a bunch of birds is called
A group of bees is called a swarm.
- the [word|name] for [many|several|a bunch of|a lot of] bees
? [What's|What is] [a bunch|a lot|a cloud] of bees [called|known as]? => what a bunch of bees is called
Water boils at 100 degrees Celsius.
? [How hot|How warm] can [liquid|] water get[| before it boils| before it turns into steam]? => how hot water can get
? [When|At what temperature] does water [turn into|become|change to] steam? => when water turns into steam
Spiders spin webs.
? What do spiders [make|build|live in|produce]? => what spiders make
? [Which|What] [animal|animals] [spin|make|build|spins] webs?
Bees make honey.
? [Who|Which animal|Which insects] [makes|make|gives us] honey? => which insects make honey
? [Where|From where|From which animal] does honey come[| from]? => where honey comes from
Pandas eat bamboo.
? [Which|What] [animal|animals] [eat|eats|lives on] bamboo?
Water is made of hydrogen and oxygen.
? [What|Which] [is made|consists] of hydrogen and oxygen?
Penguins live in the south.
? [Do penguins live|Are penguins found] in the north or [in|] the south?
"""
