"""Free requests for tools: a block begins with the name of a known family, or defines a new one.

A new family is `= names; description; parameters`, with parameters as in tool_tables. {0}, {1} are their values.
"""

from __future__ import annotations

REQUESTS = """
= get_weather
[Should|Do] I [take|need|bring] [an umbrella|a coat|sunglasses|a scarf|boots] [in|to|when I am in] {0}[ today|]?
[I'm|I am|We are|My son is] [flying|going|off|on the way] to {0}, [what's|how is|what about] the weather [there|like \
there]?
[What|How] [does|do] the [sky|weather|conditions] [look|seem] [like |][in|over|around] {0}[ right now| today|]?
[Is|Are] [it|there] [raining|snowing|windy|stormy|foggy|freezing|clouds|storms] in {0}[ now| today|]?
[Weather|Temperature|Degrees] [in|for|at] {0}[?| please| now?|, quickly.]
In {0}, [is it|how] [cold|warm|hot|nice|sunny|wet][ outside|]?
[Tell me|Find out|Check|See] [whether|if] it [rains|snows|is nice|is cold] in {0}[.|, please.]
[My|Our] [flight|train|tour|bus] [to|for] {0} [leaves soon|is today|goes in an hour], [is it warm there|do I need a \
coat|will I get wet]?
[I wonder|I'd like to know|Let me know|Can you see] [if|whether] [I need a jacket|it is warm|the sun shines|it's \
raining] in {0}[.|?|]
[Sunny|Rainy|Cold|Warm] [or not|right now|today|] in {0}?
Are people in {0} [carrying|wearing] [umbrellas|coats] [today|now]?
weather {0}
[My mum|My sister|My son] lives in {0}[.|,] [is it cold there|how's the weather over there]?
* [What to wear|How do I dress] in {0} today?
= set_timer
[Eggs|Pasta|Tea|Pizza|The cake] [needs|takes|is done in|must cook for] {0} minutes, [time it|set a timer|tell me \
when].
[Beep|Alert me|Let me know|Remind me|Shout] [in|after] {0} [minutes|mins|min][.|, please.]
{0} [minutes|mins|min] [timer|countdown|on the clock][.|, please.| now.]
[Could|Can|Would] you [time|count|measure] {0} minutes[?| for me?]
[I want|I'd like|Let me have] a [break|nap|rest] of {0} minutes, [set a timer|wake me after that].
[I'm|I am] [boiling|cooking|baking] [eggs|rice|a cake|noodles], timing is {0} [minutes|min][.|, let me know.]
[I|We] [have|must leave in|start in] {0} minutes[,|.] [make sure I notice|don't let me forget|start the clock].
[Start|Run|Begin] a [countdown|clock|timer] [of|for] {0} [minutes|mins|min][.|, please.|]
[Wake me|Call me|Buzz me] in {0} minutes[.|, I take a nap.|, please.]
[How about|Let's do|I need] {0} minutes [on the timer|of quiet time, time it|and then a beep][.|]
[The kids|My son] may play for {0} minutes[, time them|. Set a timer|, tell us when it is over][.|]
* [My bread|The roast] wants {0} minutes.
= set_alarm
[I need|I have|I want] to be [awake|up|out of bed] [at|by] {0}[.| tomorrow.|, set an alarm.]
[My|The] [train|bus|school|work] [leaves|starts|begins] early, [so wake me at|alarm at|get me up at] {0}[.|]
[Don't|Do not] let me sleep [past|longer than|after] {0}[.|!]
[Could|Can|Would] you [wake me|set the alarm|get me up] [at|for] {0}?
[Tomorrow|On work days|This time] I [get up|must be up|rise] at {0}[.|, make it ring.|, so set the alarm.]
[My|Our] [flight|exam|meeting|shift] is early[.|,] [I have to be up by|wake me at|ring at|please ring at] {0}[.|]
I must not oversleep[.|:|,] [alarm at|wake me up at|ring me at] {0}[.|!|]
[Ring|Buzz|Beep|Make noise] at {0}[.|, please.| sharp.|]
alarm {0}
* [Cock-a-doodle-doo|Rise and shine] at {0}, please.
= send_email
[Could|Can|Would] you [mail|email|write to] {0} [about|concerning|regarding] {1}?
[Let|Send] {0} [know by mail|an email|a mail] [about|on|regarding] {1}[.|]
[I have|I need|I want] to [email|mail|write to] {0} [about|regarding|on] {1}[.|]
{0} [needs|should get|is waiting for] [an email|a mail] [from me|] about {1}[.|, write it.|, please.]
[Drop|Shoot|Write] {0} [a mail|an email|a line by mail] [about|regarding] {1}[.|, please.|]
[Tell|Inform] {0} [by email|via email|by mail] about {1}[.|]
[Can|Could] {0} get an email [about|on] {1}[?|, please?]
* [A letter by mail|Electronic mail] goes to {0}, topic {1}.
= send_message
[Could|Can|Would] you [tell|text|message|inform] {0}: {1}
[I want|I'd like|I need] {0} to [know|read|hear] this: {1}
[My message|A text|A short note] [to|for] {0} [is|says|reads]: {1}
Let {0} know: {1}
[Write|Text|Ping|Message] {0}: {1}
{0} should [know|read|get] this[ message|]: {1}
[Send|Drop] {0} a [message|text|note|line][ saying|]: {1}
* [Pass on|Forward] to {0}: {1}
= translate
[How|What] [would|do] [people|they|you] [say|call] {0} in {1}?
[Could|Can|Would] you [translate|put|turn] {0} [into|to] {1}?
[I need|I want|Give me] the {1} [for|word for|version of|translation of] {0}[.|]
[My|A] friend speaks only {1}. [How do I say|What is] {0}?
[In|Into] {1}[,|:] {0}
[I|We] [need|want] to say {0} [to a friend|at the hotel|] in {1}[.|, how does that go?|. Help.|]
[What's|Whats|What is] [the|] {1} [for|word for|way to say] {0}?
My {1} teacher [asks|wants] {0} in {1}[.|]
[Is there|Do you know] a {1} [word|phrase] for {0}?
[I'm|I am] learning {1}[.|,|:] [how do I say|what is|teach me] {0}[?|]
{0} to {1}[, please.|]
* [Render|Express] {0} in {1}.
= play_song
[Could|Can|Would] you [play|put on|start] {0}?
[I'm in the mood for|Let's listen to|We want to dance to|I want to sing along to] {0}[.|!|]
[Turn on|Stream|Blast|Queue] {0}[.|]
[It's|It is] too [quiet|silent] [here|in here][.|,] [how about|put on|play] {0}[?|.|]
My favourite is {0}[.|,] [play it|put it on|let's hear it][.|, please.|!]
[Could|Can|May] [we|I] [hear|listen to|have] {0}[?|, please?]
[Music|A song], please: {0}[.|]
[I|We] [love|adore|miss] {0}[.|,] [play it|put it on][.|, please.|!]
* [My ears want|Treat me to] {0}.
= set_light
[I can't see|I see nothing|It is too dark|I stumble] in the {0}[.|, turn the light on.|, help.]
[Could|Can|Would] you [turn on|switch on|put on] the [light|lights|lamp] in the {0}?
[Lights|Lamp|Light] on, {0}[.|!|, please.]
[I'm|I am|We are] [going to|in] the {0}, [make it bright|turn the light on|switch the lights on].
[It's|It is] [pitch dark|getting dark|so dark|dark] in the {0}[.|!|, I can't read.|, do something.]
[I|We|The kids] [can't|cannot] [see|read|find anything] in the {0}[.|!|, it needs light.]
[Someone|Somebody] [sits|is reading] in the dark in the {0}[.|, switch the lamp on.]
[Let us have|Give me] [some|] light in the {0}[.|, please.]
[Can|Could] [we|I] [have|get] [some|] light in the {0}[?|, please?]
{0} light on[.|, please.|]
* [Illuminate|Brighten] the {0}.
= set_colour
[Could|Can|Would] you [make|turn|set] the [light|lamp] in the {0} {1}?
[For the party|For tonight|For dinner] [I want|make] the {0} [light|lamp] {1}[.|]
[Change|Switch] the [colour of the|] {0} [light|lamp] to {1}[.|]
[Can|Could] [we|I] have [a|] {1} light in the {0}[?|, please?]
[I|We|The kids] [like|want|prefer] [it|the light] {1} in the {0}[.|, please.]
[The|Our] {0} [looks|would look|is] [better|nicer|cosier] in {1}[.|, change the light.]
{0} [light|lamp] {1}[.|, please.|]
* A {1} glow for the {0}.
= set_temperature
[It is|It's] [too cold|freezing|chilly|too hot] in the {0}, [make it|set it to|I want] {1} degrees.
[Could|Can|Would] you [set|heat|bring] the {0} to {1} degrees?
[Heating|Thermostat|Temperature] [in the|for the] {0}: {1}[.| degrees.| please.]
[I'm|I am|We are|The baby is] [freezing|cold|sweating|shivering] in the {0}[.|,] [make it|put it at|we need|I need] \
{1} degrees[.|, please.]
[Let's|Let us] have {1} degrees in the {0}[.|, please.]
[Can|Could] the {0} [be|have] {1} degrees[?|, please?]
[Guests|The kids|My parents] [come|are here|are coming], [so heat|set|bring] the {0} to {1}[.| degrees.]
{0} {1} degrees[.|, please.|]
* {1} is [ideal|right] for the {0}.
= add_reminder
[Could|Can|Would] you remind me [of|about] {0} at {1}?
[I always forget|I tend to forget|Don't let me miss] {0}[, remind me at|, so ping me at| at] {1}[.|]
[Ping|Nudge|Alert] me about {0} at {1}[.|]
[At|By] {1} [I need|I have|I want] to [think of|remember|do] {0}[.|, remind me.|, help me remember.]
[Don't|Do not] let me forget [about|] {0} at {1}[.|!|, please.]
[I|We] [have a bad memory|forget everything][.|:|,] [remind me of|tell me about] {0} at {1}[.|]
[Make sure I|See that I] [remember|don't forget] {0} at {1}[.|, please.]
[Could|Can] you [tell me|ping me|give me a sign] at {1} about {0}?
* [Tie a knot in my handkerchief|Jog my memory] for {0} at {1}.
= search
[What|Which pages] [can you find|is there] [on the web|online|on the internet] about {0}?
[Could|Can|Would] you [google|look up|search for|find] {0}?
[Let's|Let us] [google|look up|search for] {0}[.|]
[Does|Would] [the internet|the web|Google] know something about {0}?
[Find|Get|Show] me [pages|something|information|articles|results] [about|on] {0}[.| online.| on the web.]
[I|We] [want|need] [information|to read more|to find out more] [on|about] {0}[.|, look online.|, search for it.]
[Use|Open] the [internet|web|search] [and find|to find|for] {0}[.|]
[I'm|I am] [curious|reading] about {0}[.|,] [look it up|search it|google it|find me something][.|, please.]
* [Browse|Comb] the web for {0}.
= get_stock_price
[How|What] [are|is] [the|] {0} [shares|stock] [doing|trading at|at]?
[I own|I want to buy|Should I sell] {0} shares[.|?] [What's the price|What are they worth|Check the price][?|.]
[Quote|Ticker|Price|Stock price] [for|of] {0}[?|.|, please.]
[I'm|I am] thinking of [buying|selling] {0} [stock|shares][.|,] [what's the price|how much are they|what do they \
cost][?|]
[Is|Are] {0} [stock|shares] [up or down|up|down|falling|rising] [today|now|]?
How did {0} [stock|shares] [close|do] [today|]?
[My|Our] [broker|dad] [talks about|bought] {0}[.|,] [check the stock price|what is the stock at][.|?]
{0} stock price
* [How dear|How expensive] is a {0} share?
= convert_currency
[I have|I got|I need|I brought] {0}, [how many|how much is that in|convert it to] {1}[?|]
[Could|Can|Would] you [convert|exchange|change] {0} [to|into] {1}?
{0} in {1}[?|, please.|]
[The|My] [hotel|bill|ticket] costs {0}[.|,] [what is that in|how much is that in] {1}?
[What|How much] [would|will|do] I get in {1} for {0}?
[I'm|I am] [travelling|off] with {0}[.|,] what is it in {1}?
[If|When] I [change|exchange] {0} [into|to] {1}[,|] [what|how much] do I get?
* [Swap|Trade] {0} for {1}.
= book_table
[There are|There will be|We'll be|It's] {0} of us [for dinner|tonight|], [we come at|book for|a table at] {1}[.|, \
please.]
[Dinner|Lunch|A table|Seats] for {0} [people|persons|guests|] at {1}[.|, please.|]
[Could|Can|Would] you [book|reserve|get] a table for {0} at {1}?
[It's|It is] [my birthday|our wedding day|date night] and [we are|there are] {0} of us[.|:|,] [a table at|book for] \
{1}[.|]
[We'd|We would] like to [eat|dine|come] at {1}[.|,] [{0} people|there are {0} of us|for {0}][.|, please.]
[Do you have|Is there|Have you got] a table for {0} at {1}?
[Can|Could] we [come|eat|sit down] at {1} for {0} people?
[Please|] [keep|hold] a table for {0} [at|from] {1}[.|]
* [Party|Group] of {0}, {1}.
= book_flight
[I'm|I am|We are] [in|stuck in|leaving] {0} and [want|have|need] to [fly|get] to {1}[.|, find a flight.| by plane.]
[Could|Can|Would] you [find|book|search] [a flight|flights|a plane] from {0} to {1}?
[Flying|Flights] {0} to {1}[?|.|, please.]
[How do I|When can I] fly from {0} to {1}?
[I|We] live in {0} and [want|have|would like] to [visit|be in|see] {1}[.|,] [look for flights|any flights?|which \
planes go?]
[My|Our] [holiday|trip|meeting] is in {1}[.|,] [find a flight from|I fly from|we leave from] {0}[.|]
[Is there|Are there|Do you see] [a plane|any planes|a flight] [from {0} to {1}|that goes from {0} to {1}]?
[I|We] must [be in|get to] {1} [fast|soon|by air][.|,] [starting in|coming from|leaving from] {0}[.|]
flights {0} - {1}
* [Wings|A plane seat] from {0} to {1}.
= order_taxi
[I'm late|It is late|My feet hurt|It rains], [get|call|order] me a [cab|taxi] to {0}[.|!|, please.]
[Could|Can|Would] you [order|call|get|book] a [cab|taxi] to {0}?
[Cab|Taxi|A driver] [for|to] {0}[.|, please.|]
[I|We] [missed the bus|have heavy bags|drank wine|can't walk][.|,] [get me|order|I need] a [taxi|cab] to {0}[.|!|, \
please.]
[Can|Could] [someone|a taxi|a cab] [drive|take|bring] me to {0}[?|, please?]
Where do I get a [taxi|cab] to {0}?
[I'm|I am] going to {0}[.|,] [call a cab|taxi please|I want a taxi|get a driver][.|!]
taxi {0}
* [Pick me up|Fetch me] for {0}.
= order_item
[We need|We are out of|There is no] {0}[,|:] [order|get|buy] {1}[.|, please.]
[Could|Can|Would] you [order|buy|get] {1} {0}?
[Put|Place] an order for {1} {0}[.|]
[Shopping|On my shopping list]: {1} {0}
[The|My] [fridge|shelf|cupboard] is empty[.|:|,] [order|buy|get] {1} {0}[.|, please.|]
[I|We] [ran out of|used up all the|have no more] {0}[.|,|;] [get|order|buy] {1}[.|, please.| more.]
[How about|What about|May I have|Could we get] {1} {0}[?|, please?]
[Don't forget|Remember] to [buy|order] {1} {0}[.|]
[Guests|Friends] are coming[.|,|:] [we need|order|buy] {1} {0}[.|]
* [Fetch|Send] me {1} {0}.
= get_news
[What's|What is] [going on|happening|new] [with|about|around] {0}?
[Could|Can|Would] you [show|find|tell] me the [news|headlines] [about|on] {0}?
[Has|Did] anything [happened|happen] with {0}?
What [do the papers say|is in the papers|is in the press] about {0}?
[Did I miss|Have I missed] [anything|something] [about|on] {0}?
[I|We] [want|need|would like] to [read|hear] [the latest|the news|something new] [about|on] {0}[.|]
[Keep|Bring] me up to date [on|about|with] {0}[.|]
news {0}
* [Which|What] stories [run|are] about {0}?
= define_word
[I read|I heard|I found|Somebody used] the word {0}. What does it mean?
[Could|Can|Would] you [define|explain|look up] {0}?
[Meaning|Definition|Sense] of {0}[?|.|, please.]
[I|We] [don't|do not] [know|understand] [the word|what is meant by] {0}[.|, explain it.|. What is it?]
[What|Which] [sense|meaning] does [the word|] {0} have?
[Someone|My boss] said {0}[.|,] [what is that supposed to mean|what does that mean|look it up][?|.]
How [would|does] [a|the] dictionary define {0}?
define {0}
* [In plain words|In other words], {0} is what?
= create_note
[Could|Can|Would] you [note|write down|jot down]: {0}
[Jot down|Keep in mind|For my notes|Memo|Note to self]: {0}
[I|We] [must|should] not [forget|lose] this[, write it down|, note it|]: {0}
[Add|Put|Write] [this|] [to|in|into] my [notes|notebook]: {0}
[Save|Store|Keep] [this|] for later: {0}
[Here is|I have] a [thought|note|line] [to keep|to save|for my notes]: {0}
* [On paper|For the record]: {0}
= add_event
[Could|Can|Would] you [add|put|enter] {0} [to|in|into] my calendar [for|on] {1}?
[Mark|Block|Save] {1} for {0}[.|]
{1} [is|will be] {0}[, put it in the calendar.|, add it to my calendar.]
[I|We] have plans on {1}[,|:] [it is|there is] {0}[.|, put it in.]
[Put|Write|Mark] [it|this] [down|in my calendar]: {0}, {1}[.|]
[Make|Create] [an entry|an event|an appointment] for {0} on {1}[.|, please.]
[My|Our] calendar should [show|have|say] {0} on {1}[.|]
[On|For] {1} [I'm planning|we plan|I want to add] {0}[.|, please.]
* [Pencil in|Slot in] {0} for {1}.
= set_volume
[It is|It's|The music is] too [loud|quiet], [set the volume to|volume|turn it to] {0}[.|, please.]
[Could|Can|Would] you [set|turn|put|change] the [volume|sound] to {0}?
[Louder|Quieter|Softer], [to|at|volume] {0}[.|, please.]
[I|We|The baby] [can't|cannot] [hear|sleep][.|!|,] [put the volume at|volume to|set the volume to|sound to] {0}[.|, \
please.]
[My ears hurt|The neighbours complain|I can't hear a thing][.|,|:] [volume|set it to|make the volume|turn the sound \
to] {0}[.|, please.]
[Can|Could] we have [the volume|the sound|it] at {0}[?|, please?]
volume {0}
* [Loudness|Sound level] {0}.
= call_person
[I need|I have|I want|I'd like] to [talk|speak] [to|with] {0}[.| on the phone.|, call now.|, please.]
[Could|Can|Would] you [call|ring|phone|dial] {0}?
[Connect|Put] me [with|through to] {0}[.|, please.]
[I|We] [have to|should|must] [ring|call|phone|speak to] {0} [now|today|quickly|][.|, please.]
[Could|Can|May] I [talk|speak] to {0}[?| on the phone?|, please?]
Is {0} [there|at home]? [Call|Ring|Try the phone][.|]
[It's|It is] {0}'s birthday[.|,] [call|ring|phone] [him|her|now][.|]
* [Buzz|Get hold of] {0}.
= get_directions
[I'm|I am|We are] in {0}[.|,] [How do I get|What's the way|Show me the way|Guide me] to {1}[?|.]
[Could|Can|Would] you [show|tell|find] me the [way|route] from {0} to {1}?
[Driving|Walking|Going] from {0} to {1}, [which way|which road|how]?
[I'm|I am|We are] [lost|driving|on a bike][.|,] [how do I get from|which way is it from|guide me from] {0} to {1}[?|.]
[I|We] [start|set off|leave] in {0} and [want|have|need] to [reach|get to|be in] {1}[.|,] [which way|show the \
route|what's the route][?|.]
[What|Which] [road|roads|way] [takes|leads|brings] me from {0} to {1}?
* [Steer|Lead] me from {0} to {1}.
= roll_dice
[Could|Can|Would] you [roll|throw] {0} dice?
[It's my turn|We play a game|For our game], [roll|throw] {0} dice[.|, please.]
[Dice|Roll], {0} of them[.|, please.]
[I|We] [need|want] {0} dice [rolled|thrown][.|, please.]
Let me see a [roll|throw] of {0} dice[.|]
Your turn[.|:|,] {0} dice[.|, please.| to roll.]
[Can|Could] {0} dice be [rolled|thrown]?
* [Toss|Shake] {0} dice.
= get_time
[I want to call|My friend lives in|My boss is in] {0}[.|,] [what time is it|how late is it] there?
[Could|Can|Would] you [tell|say|check] [me|] [what time it is|the time] in {0}?
[What does|What do] [the clock|clocks] [say|show] in {0}?
[Can|Should|May] I [call|ring] [my mum|my boss|someone] in {0} now[?|, or is it night?|, what time is it?]
Are [people|they] [asleep|awake|at work] in {0} [now|right now|already]?
How late [is it|would it be] in {0} [now|]?
[My|Our] [plane|train] [lands|arrives] in {0}[.|,] what time is it there?
time {0}
* [Is it morning or evening|How far is the day] in {0}?
= find_recipe
[I have|There is|We bought] [a lot of|some|] {0} [at home|in the fridge|left]. What can I [cook|make|bake]?
[Could|Can|Would] you [find|show|give] me a [recipe|dish] with {0}?
[Dinner|Lunch|Something tasty|A dish] with {0}[?|, please.]
[I'm|I am|We are|The kids are] hungry and [there is only|I have] {0}[.|,] [what do I cook|any recipe|what can we \
make][?|]
What do [I|you|people] [cook|make|bake|prepare] with {0}?
[Guests|My parents] come tonight[.|,] [find a recipe|what can I cook|I need a recipe] with {0}[.|?]
recipe {0}
* [Cooking ideas|Kitchen ideas] for {0}?
= add_task
[Could|Can|Would] you [add|put|write] {0} [on|to] my [list|to-do list|tasks]?
[Todo|To-do|Task|Job for me]: {0}
* [Chore|Duty]: {0}
= open_file
[Could|Can|Would] you [open|show|display|read] [me|] {0}?
[What's|What does it say|What stands|What is written] in {0}?
[I need|I want|Let me have] a look at {0}[.|]
[I|We] [have to|must|need to] [read|check|see] {0}[.|, please.|]
[Can|Could|May] [I|we] [see|read|have a look at] {0}[?|, please?]
[What|Which text] is [inside|in] {0}?
I [forgot|wonder] what [is|I wrote] in {0}[.|, open it.|, show it.]
* [Pull|Bring] up {0}.
= delete_file
[Could|Can|Would] you [delete|remove|erase] {0}?
{0} [can go|is useless|is old|is no longer needed|must go][.|, delete it.|, remove it.]
[I|We] [don't|do not] [need|want|use] {0} [any more|any longer|now][.|, delete it.]
[My|The] disk is full[.|,|:] [remove|delete|erase] {0}[.|, please.]
[Nobody|No one] [needs|uses|reads] {0}[.|, throw it out.|, remove it.]
Make {0} [disappear|vanish|go away][.|]
* [Trash|Bin] {0}.
= rename_file
[Could|Can|Would] you [rename|change] {0} [to|into] {1}?
[The name|I don't like the name] {0} [is bad, make it|, make it|is wrong, use] {1}[.|]
[I|We] want {0} to be [called|named] {1}[.|, please.]
[Can|Could] {0} [be called|have the name|be named] {1}[?|, please?]
[From now on|From today] {0} [is|shall be] [called|named] {1}[.|]
[New name for|A better name for] {0}: {1}[.|]
* {0} becomes {1}.
= track_parcel
[I'm|I am|We are] waiting for [my order|parcel|the package|order] {0}[.|, where is it?|. Is it coming?]
[Could|Can|Would] you [track|find|check] [order|parcel|package|] {0}?
[Status|Position|Whereabouts] of {0}[?|, please.]
[Has|When will] [order|parcel|package] {0} [arrived|arrive|come]?
[My|Our|The] [order|parcel|package] {0} [is late|has not come|should be here][.|, where is it?|, find it.|, check it.]
How far is [order|parcel|package] {0}[ by now|]?
[When|On which day] [do I get|can I expect|will I have] [order|parcel|package] {0}?
Is {0} [coming|on its way] [today|yet|]?
track {0}
* [Any sign|Any trace] of {0}?
= create_user
[Could|Can|Would] you [register|add|sign up] {0} with [the email|the address|] {1}?
[We have|There is] a new [colleague|member|user|customer], {0}, [email|mail] {1}[.|]
{0} [is new here|joins us|starts today][.|,|;] [the email is|register with|create an account with] {1}[.|]
I'm {0} and [want|need] an account[.|,|;] [my email is|email] {1}[.|]
[Can|Could] {0} [get|have] an account[?|, please?] [The email is|Email:] {1}[.|]
* [Welcome|Enrol] {0}, {1}.
"""
