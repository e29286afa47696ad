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
* [What to wear|How do I dress] in {0} today?
= set_timer
[Eggs|Pasta|Tea|Pizza|The cake] [needs|takes|is done in|must cook for] {0} minutes, [time it|set a timer|tell me \
when].
[Beep|Alert me|Let me know|Remind me|Shout] [in|after] {0} [minutes|mins|min][.|, please.]
{0} [minutes|mins|min] [timer|countdown|on the clock][.|, please.| now.]
[Could|Can|Would] you [time|count|measure] {0} minutes[?| for me?]
[I want|I'd like|Let me have] a [break|nap|rest] of {0} minutes, [set a timer|wake me after that].
* [My bread|The roast] wants {0} minutes.
= set_alarm
[I need|I have|I want] to be [awake|up|out of bed] [at|by] {0}[.| tomorrow.|, set an alarm.]
[My|The] [train|bus|school|work] [leaves|starts|begins] early, [so wake me at|alarm at|get me up at] {0}[.|]
[Don't|Do not] let me sleep [past|longer than|after] {0}[.|!]
[Could|Can|Would] you [wake me|set the alarm|get me up] [at|for] {0}?
* [Cock-a-doodle-doo|Rise and shine] at {0}, please.
= send_email
[Could|Can|Would] you [mail|email|write to] {0} [about|concerning|regarding] {1}?
[Let|Send] {0} [know by mail|an email|a mail] [about|on|regarding] {1}[.|]
[I have|I need|I want] to [email|mail|write to] {0} [about|regarding|on] {1}[.|]
* [A letter by mail|Electronic mail] goes to {0}, topic {1}.
= send_message
[Could|Can|Would] you [tell|text|message|inform] {0}: {1}
[I want|I'd like|I need] {0} to [know|read|hear] this: {1}
[My message|A text|A short note] [to|for] {0} [is|says|reads]: {1}
* [Pass on|Forward] to {0}: {1}
= translate
[How|What] [would|do] [people|they|you] [say|call] {0} in {1}?
[Could|Can|Would] you [translate|put|turn] {0} [into|to] {1}?
[I need|I want|Give me] the {1} [for|word for|version of|translation of] {0}[.|]
[My|A] friend speaks only {1}. [How do I say|What is] {0}?
[In|Into] {1}[,|:] {0}
* [Render|Express] {0} in {1}.
= play_song
[Could|Can|Would] you [play|put on|start] {0}?
[I'm in the mood for|Let's listen to|We want to dance to|I want to sing along to] {0}[.|!|]
[Turn on|Stream|Blast|Queue] {0}[.|]
* [My ears want|Treat me to] {0}.
= set_light
[I can't see|I see nothing|It is too dark|I stumble] in the {0}[.|, turn the light on.|, help.]
[Could|Can|Would] you [turn on|switch on|put on] the [light|lights|lamp] in the {0}?
[Lights|Lamp|Light] on, {0}[.|!|, please.]
[I'm|I am|We are] [going to|in] the {0}, [make it bright|turn the light on|switch the lights on].
* [Illuminate|Brighten] the {0}.
= set_colour
[Could|Can|Would] you [make|turn|set] the [light|lamp] in the {0} {1}?
[For the party|For tonight|For dinner] [I want|make] the {0} [light|lamp] {1}[.|]
[Change|Switch] the [colour of the|] {0} [light|lamp] to {1}[.|]
* A {1} glow for the {0}.
= set_temperature
[It is|It's] [too cold|freezing|chilly|too hot] in the {0}, [make it|set it to|I want] {1} degrees.
[Could|Can|Would] you [set|heat|bring] the {0} to {1} degrees?
[Heating|Thermostat|Temperature] [in the|for the] {0}: {1}[.| degrees.| please.]
* {1} is [ideal|right] for the {0}.
= add_reminder
[Could|Can|Would] you remind me [of|about] {0} at {1}?
[I always forget|I tend to forget|Don't let me miss] {0}[, remind me at|, so ping me at| at] {1}[.|]
[Ping|Nudge|Alert] me about {0} at {1}[.|]
* [Tie a knot in my handkerchief|Jog my memory] for {0} at {1}.
= search
[What|Which pages] [can you find|is there] [on the web|online|on the internet] about {0}?
[Could|Can|Would] you [google|look up|search for|find] {0}?
[Let's|Let us] [google|look up|search for] {0}[.|]
* [Browse|Comb] the web for {0}.
= get_stock_price
[How|What] [are|is] [the|] {0} [shares|stock] [doing|trading at|at]?
[I own|I want to buy|Should I sell] {0} shares[.|?] [What's the price|What are they worth|Check the price][?|.]
[Quote|Ticker|Price|Stock price] [for|of] {0}[?|.|, please.]
* [How dear|How expensive] is a {0} share?
= convert_currency
[I have|I got|I need|I brought] {0}, [how many|how much is that in|convert it to] {1}[?|]
[Could|Can|Would] you [convert|exchange|change] {0} [to|into] {1}?
{0} in {1}[?|, please.|]
* [Swap|Trade] {0} for {1}.
= book_table
[There are|There will be|We'll be|It's] {0} of us [for dinner|tonight|], [we come at|book for|a table at] {1}[.|, \
please.]
[Dinner|Lunch|A table|Seats] for {0} [people|persons|guests|] at {1}[.|, please.|]
[Could|Can|Would] you [book|reserve|get] a table for {0} at {1}?
* [Party|Group] of {0}, {1}.
= book_flight
[I'm|I am|We are] [in|stuck in|leaving] {0} and [want|have|need] to [fly|get] to {1}[.|, find a flight.| by plane.]
[Could|Can|Would] you [find|book|search] [a flight|flights|a plane] from {0} to {1}?
[Flying|Flights] {0} to {1}[?|.|, please.]
[How do I|When can I] fly from {0} to {1}?
* [Wings|A plane seat] from {0} to {1}.
= order_taxi
[I'm late|It is late|My feet hurt|It rains], [get|call|order] me a [cab|taxi] to {0}[.|!|, please.]
[Could|Can|Would] you [order|call|get|book] a [cab|taxi] to {0}?
[Cab|Taxi|A driver] [for|to] {0}[.|, please.|]
* [Pick me up|Fetch me] for {0}.
= order_item
[We need|We are out of|There is no] {0}[,|:] [order|get|buy] {1}[.|, please.]
[Could|Can|Would] you [order|buy|get] {1} {0}?
[Put|Place] an order for {1} {0}[.|]
[Shopping|On my shopping list]: {1} {0}
* [Fetch|Send] me {1} {0}.
= get_news
[What's|What is] [going on|happening|new] [with|about|around] {0}?
[Could|Can|Would] you [show|find|tell] me the [news|headlines] [about|on] {0}?
[Has|Did] anything [happened|happen] with {0}?
* [Which|What] stories [run|are] about {0}?
= define_word
[I read|I heard|I found|Somebody used] the word {0}. What does it mean?
[Could|Can|Would] you [define|explain|look up] {0}?
[Meaning|Definition|Sense] of {0}[?|.|, please.]
* [In plain words|In other words], {0} is what?
= create_note
[Could|Can|Would] you [note|write down|jot down]: {0}
[Jot down|Keep in mind|For my notes|Memo|Note to self]: {0}
* [On paper|For the record]: {0}
= add_event
[Could|Can|Would] you [add|put|enter] {0} [to|in|into] my calendar [for|on] {1}?
[Mark|Block|Save] {1} for {0}[.|]
{1} [is|will be] {0}[, put it in the calendar.|, add it to my calendar.]
* [Pencil in|Slot in] {0} for {1}.
= set_volume
[It is|It's|The music is] too [loud|quiet], [set the volume to|volume|turn it to] {0}[.|, please.]
[Could|Can|Would] you [set|turn|put|change] the [volume|sound] to {0}?
[Louder|Quieter|Softer], [to|at|volume] {0}[.|, please.]
* [Loudness|Sound level] {0}.
= call_person
[I need|I have|I want|I'd like] to [talk|speak] [to|with] {0}[.| on the phone.|, call now.|, please.]
[Could|Can|Would] you [call|ring|phone|dial] {0}?
[Connect|Put] me [with|through to] {0}[.|, please.]
* [Buzz|Get hold of] {0}.
= get_directions
[I'm|I am|We are] in {0}[.|,] [How do I get|What's the way|Show me the way|Guide me] to {1}[?|.]
[Could|Can|Would] you [show|tell|find] me the [way|route] from {0} to {1}?
[Driving|Walking|Going] from {0} to {1}, [which way|which road|how]?
* [Steer|Lead] me from {0} to {1}.
= roll_dice
[Could|Can|Would] you [roll|throw] {0} dice?
[It's my turn|We play a game|For our game], [roll|throw] {0} dice[.|, please.]
[Dice|Roll], {0} of them[.|, please.]
* [Toss|Shake] {0} dice.
= get_time
[I want to call|My friend lives in|My boss is in] {0}[.|,] [what time is it|how late is it] there?
[Could|Can|Would] you [tell|say|check] [me|] [what time it is|the time] in {0}?
[What does|What do] [the clock|clocks] [say|show] in {0}?
* [Is it morning or evening|How far is the day] in {0}?
= find_recipe
[I have|There is|We bought] [a lot of|some|] {0} [at home|in the fridge|left]. What can I [cook|make|bake]?
[Could|Can|Would] you [find|show|give] me a [recipe|dish] with {0}?
[Dinner|Lunch|Something tasty|A dish] with {0}[?|, please.]
* [Cooking ideas|Kitchen ideas] for {0}?
= add_task
[Could|Can|Would] you [add|put|write] {0} [on|to] my [list|to-do list|tasks]?
[Todo|To-do|Task|Job for me]: {0}
* [Chore|Duty]: {0}
= open_file
[Could|Can|Would] you [open|show|display|read] [me|] {0}?
[What's|What does it say|What stands|What is written] in {0}?
[I need|I want|Let me have] a look at {0}[.|]
* [Pull|Bring] up {0}.
= delete_file
[Could|Can|Would] you [delete|remove|erase] {0}?
{0} [can go|is useless|is old|is no longer needed|must go][.|, delete it.|, remove it.]
* [Trash|Bin] {0}.
= rename_file
[Could|Can|Would] you [rename|change] {0} [to|into] {1}?
[The name|I don't like the name] {0} [is bad, make it|, make it|is wrong, use] {1}[.|]
* {0} becomes {1}.
= track_parcel
[I'm|I am|We are] waiting for [my order|parcel|the package|order] {0}[.|, where is it?|. Is it coming?]
[Could|Can|Would] you [track|find|check] [order|parcel|package|] {0}?
[Status|Position|Whereabouts] of {0}[?|, please.]
[Has|When will] [order|parcel|package] {0} [arrived|arrive|come]?
* [Any sign|Any trace] of {0}?
= create_user
[Could|Can|Would] you [register|add|sign up] {0} with [the email|the address|] {1}?
[We have|There is] a new [colleague|member|user|customer], {0}, [email|mail] {1}[.|]
* [Welcome|Enrol] {0}, {1}.
= get_population population count_people; Get the number of people in a city.; city|place|town:city
[How many|What number of] [people|inhabitants|citizens] [live in|has|are in] {0}?
[What's|What is|Tell me] the population of {0}[?|.]
How [big|large] is {0} [by people|in terms of people]?
* How crowded is {0}?
= feed_pet feeder pet_food; Feed a pet.; pet|animal|name:name,grams|amount|portion:amount
[Feed|Give] {0} {1} grams[.|, please.| of food.]
{0} is hungry[,|:] [give|serve] {1} grams[.|]
[Could|Can|Would] you [feed|give] {0} {1} grams?
* {0} gets {1} grams.
= water_plants irrigation sprinkler; Water the plants.; place|zone|where:room,minutes|duration:minutes
[Water|Sprinkle] the [plants|flowers] in the {0} for {1} minutes[.|, please.]
[The|My] [plants|flowers] in the {0} are dry, [water them|give them water] for {1} minutes.
[Could|Can|Would] you water the {0} for {1} minutes?
* {1} minutes of rain for the {0}.
= lock_door door_lock close_door; Lock a door.; door|room|which:room
[Lock|Close|Secure] the {0} [door|][.|, please.]
[I left|We left|I forgot to lock] the {0}[, lock it.|, please lock it.|.]
[Could|Can|Would] you lock the {0}[ door|]?
* Nobody should get into the {0}.
= start_vacuum clean_room robot_clean; Clean a room.; room|place|where:room
[Clean|Vacuum|Tidy|Sweep] the {0}[.|, please.| now.]
[The|Our] {0} is [dirty|dusty|a mess][.|, clean it.|, send the robot.]
[Could|Can|Would] you [clean|vacuum] the {0}?
* [Crumbs|Dust] everywhere in the {0}!
= rate_film rate review give_stars; Rate a film.; title|film|movie:text,stars|rating|points:count
[Rate|Give] {0} {1} [stars|points][.|]
[I give|I'd give|My rating for] {0} [|is] {1} [stars|points][.|]
* {1} stars go to {0}.
= send_money pay transfer make_payment; Send money to someone.; to|recipient|person|name:name,amount|sum|value:amount
[Send|Pay|Transfer|Give] {0} {1} [euros|dollars|pounds][.|, please.]
[I owe|I have to pay|I must pay] {0} {1} [euros|dollars|pounds][.|, send it.|, pay it.]
[Could|Can|Would] you [send|transfer|pay] {1} [euros|dollars] to {0}?
* {0} should receive {1}.
= find_hotel hotel search_hotel book_hotel; Find a hotel.; city|place|location:city,nights|days|stay:count
[I need|Find|Book|Get me] a [hotel|room|bed] in {0} for {1} nights[.|, please.]
[We|I] [stay|sleep|am] in {0} for {1} nights[,|:] [find a hotel|where can I sleep|book a hotel].
[Could|Can|Would] you [find|book] a hotel in {0} for {1} nights?
* {1} nights under a roof in {0}.
= find_train train train_times timetable; Find a train.; from|origin|start:city,to|destination|goal:city
[When|Where] does the [next|] train from {0} to {1} [leave|go]?
[I want|I have|I need] to [go|travel] from {0} to {1} by train[.|]
[Train|Trains|Rail] from {0} to {1}[?|, please.|]
* On rails from {0} to {1}.
= get_exchange_rate exchange_rate rate_of; Get the rate of a currency.; currency|money|code:currency
[What's|What is|Tell me] the [rate|exchange rate] of the {0}[?|]
How [is the {0} doing|does the {0} stand] [today|now|]?
[Is the {0} strong|Has the {0} fallen|Has the {0} risen] [today|this week]?
* How strong is the {0}?
= set_reading_goal goal set_goal; Set a goal of pages.; pages|number|goal:count
[I want|I plan|My goal is] to read {0} pages[.| a day.| each day.]
[Set|Make] my [goal|reading goal] [to|] {0} pages[.|]
* {0} pages a day keep me wise.
= find_contact contact lookup_contact address_book; Find someone in the address book.; name|person|who:name
[What's|What is|Find|Give me|Show me] [the number|the address|the contact] of {0}[?|.]
[How|Where] can I [reach|contact] {0}?
[Do we have|Is] {0} in [my contacts|the address book]?
* Look {0} up in my contacts.
= charge_car charger start_charging; Charge the car up to a level.; level|percent|limit:level
[Charge|Load|Fill] [the car|my car|the battery] [to|up to|until] {0} [percent|%][.|]
[My car|The battery] is [empty|low|flat][.|,] [charge to|charge it to] {0} percent[.|]
* {0} percent must be in the car.
= print_file print printer; Print a file.; file|path|name:file,copies|count|number:count
[Print|Make] {1} copies of {0}[.|, please.]
[Print|Please print] {0} {1} times[.|]
[I need|We need] {0} on paper, {1} copies[.|]
* {1} sheets of {0}.
"""
