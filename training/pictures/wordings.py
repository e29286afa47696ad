"""The wordings of questions about pictures: a line that begins with a star is held out for the evaluation.

`{x}` and `{y}` name shapes, `{c}` a colour, `{r}` a relation.
"""

from __future__ import annotations

MACROS = {
    "colour": "colour|color",
    "picture": "picture|image|photo|drawing|pic",
    "here": "|in the picture|in this picture|in the image|in this image|here|on it",
    "please": "|please|pls",
    "tell": "tell me|can you tell me|could you tell me|do you know|please tell me|say",
    "kind": "shape|figure|form|object|thing",
}

_ONLY_COLOUR = """
What <colour> is it?
What <colour> is this?
What is the <colour>[ of it|]?
What <colour> [is the|does the] [shape|figure|object|thing|form] [have|]?
What is the <colour> of [the|this] <kind>?
Which <colour> is [it|this|the shape|the figure|that]?
What <colour> do you see?
Name the <colour>.
[the |]<colour> of the <kind>?
<tell> [the <colour>|what <colour> it is|which <colour> it has|the <colour> of the <kind>][.|?|, please.]
<colour>?
What's the <colour> <here>?
In which <colour> is the <kind> [drawn|painted|shown]?
* What <colour> would you say [it|this] is?
* Of what <colour> is the <kind>?
* I can't see well. Which <colour> does it have?
* [Look at the <kind>.|Have a look.] What's its <colour>?
"""

_COLOUR = """
What <colour> is the {x} <here>?
What <colour> is [this|that] {x}?
What is the <colour> of the {x} <here>?
What's the <colour> of the {x}?
What's the {x}'s <colour>?
Which <colour> is the {x} <here>?
Which <colour> does the {x} have?
What <colour> does the {x} have <here>?
The {x} is [which|what] <colour>?
The {x} <here> has [which|what] <colour>?
Name the <colour> of the {x}.
Give me the <colour> of the {x}<please>.
<tell> [the <colour> of the {x}|what <colour> the {x} is|which <colour> the {x} has][.|?|, please.]
[the |]<colour> of [the |]{x}?
{x} <colour>?
I see a {x}. What <colour> is it?
There is a {x} <here>. What's its <colour>?
How is the {x} coloured?
In [what|which] <colour> is the {x} [drawn|painted|shown]?
I want to know the <colour> of the {x}.
* Of what <colour> is the {x}?
* Look at the {x}: which <colour> is it?
* What <colour> would you say the {x} is?
* Can you make out the <colour> of the {x}?
* Find the {x}. What <colour> is it?
* Please name the <colour> that the {x} has.
"""

_COLOUR_SEVERAL = """
What <colour> are the {x} <here>?
What is the <colour> of the {x} <here>?
What's the <colour> of the {x}?
Which <colour> are the {x} <here>?
What <colour> do the {x} have?
Which <colour> do the {x} have <here>?
<tell> [the <colour> of the {x}|what <colour> the {x} are][.|?|, please.]
[the |]<colour> of [the |]{x}?
The {x} are [which|what] <colour>?
* Of what <colour> are the {x}?
* Look at the {x}: which <colour> are they?
"""

_ONLY_SHAPE = """
What <kind> is [this|it|that]?
What <kind> do you see?
What <kind> is <here>?
What <kind> is shown[ here|]?
What is the <kind>?
What is [this|it|that]?
What's [this|it|that|in the picture|in the image|shown here]?
Which <kind> is [this|it|that|shown]?
Which <kind> [do you see|can you see|is there] <here>?
What [kind|sort|type] of <kind> is [this|it|that|there|shown]?
Name the <kind>.
Name this <kind><please>.
<tell> [what <kind> it is|which <kind> this is|the <kind>|what it is|what this is][.|?|, please.]
<kind>?
Identify the <kind>.
[Is it|Is this] a circle, a square or [a triangle|something else]?
What does the <picture> show? Only the shape[.|, please.]
What <kind> does the <picture> [show|have|contain]?
* What do you call this <kind>?
* What would you call the <kind> <here>?
* How is such a <kind> called?
* A circle, a square or what[ is it|]?
"""

_SHAPE = """
What <kind> is {c}?
What is {c} <here>?
What is the {c} <kind> <here>?
What is the {c} [one|thing|object]?
What's the {c} <kind>?
What's {c} <here>?
Which <kind> is {c} <here>?
Which <kind> has the <colour> {c}?
The {c} <kind> is what?
What <kind> does the {c} [one|thing|object] have?
What [kind|sort|type] of <kind> is the {c} one?
What <kind> is the {c} [one|thing|object|figure]?
Name the {c} <kind>.
<tell> [what the {c} <kind> is|which <kind> is {c}|what is {c}][.|?|, please.]
[the |]{c} <kind>?
I see something {c}. What is it?
There is something {c} <here>. [Which|What] <kind> is it?
Identify the {c} <kind>.
* Look at the {c} one: what <kind> is it?
* What do you call the {c} <kind>?
* Something <here> is {c}. What?
* Which of the [shapes|figures] is {c}?
"""

_COUNT = """
How many {x} are there <here>?
How many {x} are <here>?
How many {x} do you see <here>?
How many {x} can you [see|count|find] <here>?
How many {x}?
How many {x} [does the <picture> have|does it show|are shown|are drawn|are visible|are in total]?
Count the {x}[ <here>|, please|].
[Please count|Can you count|Could you count] the {x} <here>[.|?]
What is the number of {x} <here>?
What's the number of {x}?
[The |]number of {x}[?|.|, please.]
Tell me how many {x} [there are|you see]<here>.
<tell> how many {x} there are[.|?]
I want to know how many {x} there are.
There are how many {x} <here>?
Are there any {x}? How many?
{x}: how many?
* In all, how many {x} [does the <picture> show|are there]?
* What number of {x} do you count?
* How many {x} have been drawn?
* If you count the {x}, what do you get?
* Give me the count of {x}.
"""

_PRESENCE = """
Is there {x} <here>?
Is there {x} somewhere?
Do you see {x} <here>?
Can you [see|find] {x} <here>?
Does the <picture> [show|contain|have] {x}?
Is {x} <here>?
Is {x} [shown|visible|drawn] <here>?
<tell> [if|whether] there is {x}[.|?]
I am looking for {x}. Is there one?
{x}, yes or no?
* Can {x} be seen?
* Have they drawn {x}?
* Would you find {x} in there?
"""

_DESCRIPTION = """
What do you see <here>?
What can you see <here>?
What is in [the|this] <picture>?
What's in [the|this] <picture>?
What is shown <here>?
What does [the|this] <picture> show?
Describe [the|this] <picture>[, please|].
Describe what you see.
What [shapes|figures|things|objects] [do you see|are there|are shown|can you see] <here>?
Which [shapes|figures|things|objects] [do you see|are there|are shown|can you see] <here>?
List the [shapes|figures|things|objects] <here>.
List [all|all the] [shapes|figures|objects][ and their <colour>s|].
Tell me what you see.
<tell> what is in the <picture>[.|?|, please.]
What is there <here>?
What is on the <picture>?
[Name|List] everything [in the <picture>|you see].
* Put the <picture> into words.
* What am I looking at?
* Look at [the|this] <picture> and say what there is.
* Give me a description[ of the <picture>|].
"""

_COLOURS = """
What <colour>s do you see <here>?
What <colour>s are [there|used|shown] <here>?
Which <colour>s do you see <here>?
Which <colour>s [do|have] the [shapes|figures][ have|]?
What are the <colour>s of the [shapes|figures]?
List the <colour>s [of the shapes|you see|<here>].
Name the <colour>s[ of the shapes|].
<tell> the <colour>s of the [shapes|figures][.|?]
* What <colour>s have the shapes been given?
* Which <colour>s appear, from left to right?
"""

_PLACE = """
Where is the {x} <here>?
Where's the {x}?
Where do you see the {x}?
Where can I find the {x} <here>?
[In|On] which part of the <picture> is the {x}?
In which corner is the {x}?
What is the position of the {x}?
What's the place of the {x} <here>?
The {x} is where?
<tell> where the {x} is[.|?|, please.]
Find the {x}. Where is it?
position of [the |]{x}?
* Whereabouts is the {x}?
* Locate the {x}.
* Where has the {x} been drawn?
"""

_RELATION = """
Is the {x} {r} the {y}?
Is the {x} {r} the {y} <here>?
Do you see the {x} {r} the {y}?
The {x} is {r} the {y}, [right|isn't it|yes or no|true or false]?
<tell> [if|whether] the {x} is {r} the {y}[.|?]
Would you say [that |]the {x} is {r} the {y}?
{x} {r} {y}?
* Can the {x} be found {r} the {y}?
* Is it true that the {x} is {r} the {y}?
"""

_LARGEST = """
Which [shape|figure|one|of them] is [the |][largest|biggest]?
What is the [largest|biggest] [shape|figure|one|thing] <here>?
What's the [largest|biggest] [shape|figure|one]?
Which is the [largest|biggest] [shape|figure|object|one] <here>?
Name the [largest|biggest] [shape|figure].
<tell> [which|what] is the [largest|biggest] [one|shape][.|?]
[largest|biggest] [shape|figure]?
* Which one did they draw largest?
* Which shape takes up the most room?
"""

_SMALLEST = """
Which [shape|figure|one|of them] is [the |][smallest|littlest|tiniest]?
What is the [smallest|littlest] [shape|figure|one|thing] <here>?
What's the [smallest|tiniest] [shape|figure|one]?
Which is the [smallest|tiniest] [shape|figure|object|one] <here>?
Name the smallest [shape|figure].
<tell> [which|what] is the smallest [one|shape][.|?]
smallest [shape|figure]?
* Which one did they draw smallest?
* Which shape takes up the least room?
"""

_BACKGROUND = """
What <colour> is the background <here>?
What is the <colour> of the background?
What's the background <colour>?
Which <colour> [is|has] the background <here>?
What <colour> does the background have?
On what <colour> [is it drawn|are they drawn]?
<tell> the <colour> of the background[.|?]
background <colour>?
What <colour> is behind [it|everything|the shapes]?
* Of what <colour> is the background?
* Which <colour> was the paper?
"""

_NUMBER = """
What number is [this|it|that|shown|written|<here>]?
What number do you see <here>?
What is the number <here>?
What's the number?
Which number is [this|it|that|shown|written] <here>?
Which number do you see <here>?
What digits [do you see|are shown|are there] <here>?
What does it say?
What does [the|this] <picture> [say|show]?
What is written <here>?
What do you see <here>?
Read the [number|digits][, please|].
Read it[ to me|].
<tell> [the number|what number it is|what number you see|what it says][.|?|, please.]
[the |]number?
* Can you read the number?
* Type the digits that you see.
* What figure has been written there?
"""

_WORD = """
What word is [this|it|that|shown|written|<here>]?
What word do you see <here>?
What is the word <here>?
What's the word?
Which word is [this|it|that|shown|written] <here>?
Which word do you see <here>?
What does it say?
What does [the|this] [<picture>|sign|text] say?
What is written <here>?
What text [is shown|do you see|is <here>]?
What do you see <here>?
Read the [word|text|sign][, please|].
Read it[ to me|].
<tell> [the word|what word it is|what word you see|what it says][.|?|, please.]
[the |]word?
Which letters do you see?
* Can you read the word?
* Type the word that you see.
* Spell out what is written there.
"""

_INK = """
What <colour> is the {x} <here>?
What <colour> are the {x} <here>?
What is the <colour> of the {x}?
What's the <colour> of the {x}?
Which <colour> [has|have|is|are] the {x}?
In [what|which] <colour> is the {x} written?
In [what|which] <colour> are the {x} written?
<tell> the <colour> of the {x}[.|?]
* Of what <colour> is the {x}?
* With which <colour> was the {x} written?
"""

_UNKNOWN = """
Who [drew|painted|made|took] [this|it|the <picture>]?
When was [this|it|the <picture>] [drawn|made|taken|painted]?
Where was [this|it|the <picture>] [drawn|made|taken|bought]?
Why [was it drawn|did they draw this|is there a <picture>]?
How much [is it worth|does it cost|does it weigh|did it cost]?
What is [its price|its title|its weight|the name of the artist|the artist's name|the title of the <picture>]?
What [camera|program|pen|brush|printer|paper] was used?
What does it [mean|smell like|feel like|sound like|weigh]?
What is [behind|under] the paper?
What is the [dog|cat|man|woman|child|bird|horse]'s name?
How old is the [man|woman|child|artist|dog|<picture>|person]?
What is [the man|the woman|the person|the child|she|he] [thinking|saying|doing|wearing|holding]?
Which [city|country|street|room|house] is [this|it|that|shown]?
What [day|year|month|season|time] is it <here>?
How is the weather <here>?
What [happened|happens next|will happen next|is missing|comes next]?
Who is [this|it|that|in the photo]?
What is the capital of [France|Peru|Japan|Kenya]?
What is [2|7|12] [plus|times|minus] [5|8|9]?
[Is it|Are they] made of [wood|paper|metal|glass|plastic]?
How [heavy|hot|cold|expensive|far away|loud|heavy] is [it|the shape|the figure]?
What is my name?
Whose <picture> is [this|it]?
Who owns [this|it|the <picture>]?
* What was the artist thinking?
* Which museum has it?
* For whom was it drawn?
* What is the story behind [this|the <picture>]?
* How long did it take to draw [this|it]?
"""

WORDINGS = {
    "colour/only": _ONLY_COLOUR,
    "colour": _COLOUR,
    "colour/several": _COLOUR_SEVERAL,
    "shape/only": _ONLY_SHAPE,
    "shape": _SHAPE,
    "count": _COUNT,
    "presence": _PRESENCE,
    "description": _DESCRIPTION,
    "colours": _COLOURS,
    "place": _PLACE,
    "relation": _RELATION,
    "size/largest": _LARGEST,
    "size/smallest": _SMALLEST,
    "background": _BACKGROUND,
    "number": _NUMBER,
    "word": _WORD,
    "ink": _INK,
    "unknown": _UNKNOWN,
}
"""Lines of a Grammar for each kind of question; after a slash stands its special case."""
