"""Further families of tools, with their requests, in the notation of requests.py."""

from __future__ import annotations

FAMILIES = """
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
