"""Actions that tools do, with several arguments and the parts of a request that give them.

`= names; description` begins an action. Then come its arguments, `names: kind of value ~ phrase`, an optional one
after a question mark, and after hyphens the requests. {0}, {1} are values; {rest} is where the phrases of all
arguments that the request does not name stand, in any order. <n> is an argument that is a number.
"""

from __future__ import annotations

ACTIONS = """
= create_event add_calendar_entry schedule_event new_appointment calendar_add; Add an event to the calendar.
title event name summary subject: occasion
date day on event_date: date ~ [on|for] {x}
time start start_time hour begins_at: hour ~ [at|starting at|from] {x}
?location place venue where: place ~ [in|at|location:] {x}
?attendee guest invite with_whom: fullname ~ [together with|inviting] {x}
- [Put|Add|Enter|Note] {0} [in|into|to|on] [my|the] calendar{rest}[.|, please.|]
- [I've got|I have|There is|We have] {0}{rest}[.|, please add it.|, put it in the calendar.|]
- [Schedule|Plan|Book|Create] [an event|a slot|an entry|] [called|for|named] {0}{rest}[.|, please.|]
- [Could|Can|Would] you [add|schedule|note] {0}{rest}?
= add_reminder remind_me create_reminder set_reminder; Remind the user of something.
text task what message to_do: errand
when date day on: date ~ [on|] {x}
?time at hour clock: hour ~ at {x}
- [Remind me|I need a reminder|Please remind me|Nudge me] to {0}{rest}[.|, please.|]
- [Don't|Do not] let me forget to {0}{rest}[.|!|]
- I [have|need|must remember|mustn't forget] to {0}{rest}[.|, remind me.|, make a reminder.]
- [Can|Could] you remind me[,|] {1}[,|] to {0}?
= send_email write_email compose_mail mail_to; Send an email.
to recipient address email_to receiver: email
subject title topic headline: subject ~ [with the subject|about|on the subject of|titled|, subject] {x}
?body text message content: statement ~ [saying|and write|with the text|that says] "{x}"
- [Email|Mail|Write to|Write an email to|Send an email to|Send a mail to] {0}{rest}[.|]
- [Could|Can|Would] you [email|mail|write to] {0}{rest}?
- {0} [should get|needs|must get] [a mail|an email]{rest}[.|]
= send_mail email_contact message_by_mail; Send a mail to a contact.
person to recipient contact name: fullname
subject title topic re: subject ~ [with the subject|about|, subject:] {x}
body text message content: statement ~ [and write|and say|with the text|saying|that reads|and tell them] "{x}"
- [Email|Mail|Write to|Send a mail to] {0}{rest}[.|]
- [Could|Can|Would] you [email|mail|write to] {0}{rest}?
= send_message text_contact send_sms write_message message_person; Send a text message to someone.
recipient to person contact_name: fullname
text message body content: statement
- [Text|Message|Tell|Let] {0} [know that|that|:|know] {1}[.|]
- [Send|Write] [a text|a message|an SMS|a note] to {0}: {1}
- [Send|Write] {0} [a text|a message|an SMS|] [saying|that says|reading|:] [{1}|"{1}"][.|]
- [Tell|Text|Message] {0} "{1}"[.|, please.|]
- [Could|Can|Would] you [text|message|tell] {0} [that|:|this:] {1}[?|]
- "{1}" - [send that to|text it to|this goes to|pass it on to] {0}[.|, please.|]
= translate_text translate to_language translator; Translate a text into another language.
text phrase input sentence source_text: foreign
language target_language to into lang: language
- [Translate|Put|Turn] [the sentence|the phrase|the words|] ["{0}"|"{0}"|{0}] [into|to|in] {1}[.|, please.|]
- [How do you say|How do I say|What's|What is] ["{0}"|"{0}"|{0}] in {1}[?|]
- [I need|Give me|Tell me|We need] "{0}" in {1}[.|, please.|]
- [In|Into] {1}, please: [{0}|"{0}"]
= play_song play_music start_track music_play; Play a song.
title song track name song_title: title
?artist band singer by performer: fullname ~ by {x}
- [Play|Put on|Start|I want to hear|I'd love to hear|Let's hear|Please play] [the song|] [{0}|"{0}"]{rest}[.|, \
please.|!|]
- [Could|Can|Would] you [play|put on] [{0}|"{0}"]{rest}?
= find_film search_movies movie_search; Search for films.
genre kind category type: genre
?year from_year released <n>: year ~ from {x}
?actor star with_actor starring: fullname ~ [with|starring] {x}
- [Find|Show|Search for|I want to see|Suggest] a {0} film{rest}[.|, please.|]
- [Any|Are there] {0} films{rest}?
= web_search search_web google internet_search lookup; Search the internet.
query q search_term text keywords: query
?site website source: site ~ on {x}
- [Look up|Search for|Google|Search|Find|Look for|Research] [{0}|{0}|"{0}"][ online| on the web| on the \
internet|]{rest}[.|]
- [What does the internet say about|What can you find about|Search the web for] {0}{rest}[?|]
- [Could|Can|Would] you [google|look up|search for] {0}{rest}[ for me|]?
= book_table reserve_table restaurant_booking table_reservation; Reserve a table in a restaurant.
restaurant place where restaurant_name: restaurant ~ at {x}
people guests party_size num_people seats persons <n>: count ~ for {x}[| people| persons]
time at hour arrival: hour ~ at {x}
?date day on: date ~ [on|for] {x}
- [Book|Reserve|Get us|Find us|I need|We need] a table{rest}[.|, please.|]
- [Could|Can|Would] you [book|reserve] a table{rest}?
- [Table|A table|Seats]{rest}[, please.|.|]
= find_flights search_flights flight_search book_flight; Search for flights.
origin from departure from_city departure_city: city ~ from {x}
destination to arrival to_city arrival_city: city ~ to {x}
date day departure_date leaving_on: date ~ [on|] {x}
?passengers travellers num_passengers seats <n>: count ~ for {x} [people|persons|passengers]
- [I want to fly|I need to fly|We are flying|Find a flight|Search flights|Book a flight|Get me a flight]{rest}[.|, \
please.|]
- [Any|Are there|Do you see] flights{rest}?
- [Flights|Flight]{rest}[?|, please.|]
= find_trains train_search next_train; Search for trains.
start from origin departure_station: city ~ from {x}
end to goal arrival_station: city ~ to {x}
?time at departure_time after: hour ~ at {x}
- [When is there|I need|Find me|Look for|Is there] a train{rest}[?|.|]
- [Trains|Train]{rest}[?|, please.|]
= order_taxi call_cab request_ride book_taxi; Order a taxi.
pickup from pickup_location start: place ~ from {x}
destination to dropoff goal: place ~ to {x}
?time when pickup_time at: hour ~ at {x}
- [Get|Call|Order|Book] [me|us|] a [taxi|cab|ride]{rest}[.|, please.|]
- [I need|We need|I'd like] a [taxi|cab|ride|lift]{rest}[.|]
= convert_currency exchange_money currency_converter; Convert money from one currency to another.
amount value sum money <n>: amount
from from_currency source base source_currency: currency
to to_currency target target_currency: currency
- [Convert|Change|Exchange|Turn] {0} {1} [into|to|in] {2}[.|, please.|]
- [How much|How many] [is|are] {0} {1} in {2}[?|]
- [What are|What is|What's] {0} {1} [in|worth in] {2}?
- [I have|I've got|I need to change] {0} {1}[.|,|;] [how much is that in|what is it in|change it to] {2}[?|]
= convert_units unit_converter convert_measure; Convert a measure.
value amount number quantity <n>: amount
from from_unit source_unit unit: unit
to to_unit target_unit result_unit: unit
- [Convert|Turn|Change] {0} {1} [into|to] {2}[.|]
- How many {2} [are|is|make] {0} {1}?
- {0} {1} [in|to] {2}[?|, please.|]
= set_brightness set_light dim_light adjust_light; Set the brightness of the light in a room.
room where zone location: room ~ in the {x}
brightness level percent intensity <n>: percent ~ to {x}[ percent|%|]
- [Dim|Set|Turn|Bring] the [light|lights|lamp]{rest}[.|, please.|]
- [Dim|Set|Turn] the {0} [lights|] to {1} [percent|%][.|]
- [Make it|I want] {1} [percent|%] [bright|of light] in the {0}[.|]
= set_light_colour light_color colour_light; Change the colour of a light.
room where place: room ~ in the {x}
colour color hue light_color: colour
- [Make|Turn|Switch|Set] the [light|lights|lamp]{rest} {1}[.|, please.|]
- [I want|I'd like|Give me] {1} light{rest}[.|]
= set_temperature set_heating thermostat adjust_heating; Set the temperature of a room.
room zone where place: room ~ in the {x}
degrees temperature target celsius <n>: degrees
- [Make it|Set it to|I want|We need] {1} degrees{rest}[.|, please.|]
- [Heat|Warm|Set|Bring] the {0} [up to|to] {1}[ degrees|][.|]
- [I'm|I am|We are] [freezing|cold|shivering] in the {0}[,|.|:] [make it|put it at|heat it to] {1}[ degrees|][.|]
= turn_on switch_on device_on power_on; Switch a device on.
device appliance what name: device
?room where location: room ~ in the {x}
?minutes duration for_minutes <n>: minutes ~ for {x} minutes
- [Turn on|Switch on|Start|Please start] the {0}{rest}[.|, please.|]
- [Could|Can|Would] you [turn on|switch on|start] the {0}{rest}?
= add_to_list shopping_list add_item put_on_list; Put something on the shopping list.
item product what thing article: item
quantity count amount number how_many <n>: count
- [Add|Put|Write] {1} {0} [to|on] [my|the|our] [shopping list|list][.|, please.|]
- [We need|I need|We are out of {0}, we need|Don't forget] {1} {0}[.|, put them on the list.|, add that.]
- [We ran out of|There are no|No more] {0}[.|,|:] [add|put down|get] {1}[.|]
= set_timer start_timer countdown kitchen_timer; Start a timer.
minutes duration time length num_minutes <n>: minutes
?label name title what_for: label ~ [for the|named|called|for] {x}
- [Set|Start|Run] a timer [for|of] {0} minutes{rest}[.|, please.|]
- [Set|Start|I need] a {0} minute timer{rest}[.|, please.|]
- [Could|Can|Would] you [set a timer for|count down|time] {0} minutes{rest}?
= set_alarm wake_up create_alarm alarm_clock; Set an alarm.
time at hour wake_time: hour
?day date on which_day: date ~ on {x}
- [Wake me|Wake me up|Set an alarm|Set the alarm|Ring|I need to get up|I have to be up] at {0}{rest}[.|, please.|]
- [Alarm|An alarm] at {0}{rest}[, please.|.|]
= save_note create_note write_note new_note; Save a note.
title name heading topic: subject
content text body note: statement
- [Make|Save|Write|Create] a note [called|titled|named] ["{0}"|{0}] [that says|saying|with the text|:] ["{1}"|{1}][.|]
- [Note|Write down] [under|as] "{0}": {1}
= find_recipe recipe_search get_recipe cook; Find a recipe for a dish.
dish recipe food meal: dish
servings people portions num_servings <n>: count ~ for {x} [people|persons|of us]
?minutes max_minutes time_limit <n>: minutes ~ in [under|at most|] {x} minutes
- [How do I make|How do I cook|Find a recipe for|I want to cook|Show me how to make|Recipe for] {0}{rest}[?|.|]
- [Could|Can] you find [a|me a] recipe for {0}{rest}?
= print_document print_file printer_job; Print a document.
file document filename path: file
copies count number num_copies <n>: count
?colour color ink: colour ~ in {x}
- [Print|Print out] {0} {1} times{rest}[.|, please.|]
- [Print|Make|I need|Give me] {1} copies of {0}{rest}[.|, please.|]
= move_file rename_file copy_file file_move; Move a file.
source from path old_name file: file
target to new_path new_name destination: file
- [Move|Rename|Copy|Change] {0} to {1}[.|, please.|]
- {0} [should be|must become|is now] [called|named|] {1}[.|]
= delete_file remove_file erase; Delete a file.
filename path file target: file
- [Delete|Remove|Get rid of|Erase|Throw away|Bin] [the file|] {0}[.|, please.|]
- [I don't need|Nobody needs] {0} [any more|anymore][.|, delete it.]
= feed_pet pet_feeder give_food; Feed a pet.
pet animal name who: pet
grams amount portion weight <n>: amount
- [Give|Feed] [the|our|my|] {0} {1} grams[ of food|][.|, please.|]
- [The|My|Our] {0} [is hungry|wants food|needs food][,|.|:] [give it|serve] {1} grams[.|]
= water_plant watering irrigate; Water a plant.
plant which name flower: plant
millilitres amount ml water <n>: amount
- [Give|Pour] the {0} {1} [millilitres|ml] of water[.|]
- [Water] the {0} with {1} [millilitres|ml][.|, please.|]
= lock_door door_lock secure_door; Lock a door.
door which entrance name: door
- [Lock|Close|Shut|Secure|Please lock] the {0}[.|, please.|]
- [I forgot to lock|Did I lock|Make sure nobody comes through] the {0}[.|?|, lock it.]
= game_score match_result score_of live_score; Get the latest score of a team.
team club side name: team
?date day on: date ~ on {x}
- [How did|What did] {0} [do|play]{rest}?
- [What's|What is|Tell me|Give me] the [score|result] of {0}{rest}[?|.|]
- Did {0} [win|lose|play]{rest}?
= stock_price quote share_price get_quote; Get the price of a share.
symbol ticker stock company: ticker
- [What are|How are|Check|Look up] {0} shares [at|worth|doing|trading at|][?|]
- [What's|What is|Get me|Tell me] the [price|share price|stock price] of {0}[?|.|]
- [How is|How's] {0} [stock|] doing[ today|]?
= track_order parcel_status order_status where_is_parcel; Look up where an order is.
order_id id code number tracking_number parcel: code
?email customer mail: email ~ [for|of] {x}
- [Where is|Track|Find|What about|What happened to|Is there news of] [my parcel|my order|order|parcel] {0}{rest}[?|]
- [Where is|Where's] my [order|parcel|package]? [The number is|It's|It is|Number|The code is] {0}{rest}[.|]
- I [have been waiting|waited|am waiting] for [order|parcel] {0}{rest}[.|,] [Where is it?|can you check?|find it.]
= get_weather weather_lookup current_weather weather_at; Get the weather of a place.
city location place town where: city
?date day when on: date ~ [on|for] {x}
- [What's|What is|How's|How is] the weather [like|] in {0}{rest}?
- [Weather|Forecast] [in|for] {0}{rest}[?|, please.|]
- [Is it|Will it be|Is it going to be] [warm|cold|rainy|sunny|windy] in {0}{rest}?
= call_contact phone_person dial make_call; Phone somebody.
name contact person who: fullname
?minutes delay in_minutes <n>: minutes ~ in {x} minutes
- [Call|Ring|Phone|Dial|Please call] {0}{rest}[.|, please.|]
- [I want|I need|I'd like] to [talk|speak] to {0}{rest}[.|]
- [I haven't spoken to|I miss] {0}[.|,|:] [give them a call|call them]{rest}[.|]
= pay_person transfer_money send_payment; Send money to someone.
recipient to person payee: fullname
amount sum value money <n>: amount
currency unit money_type: currency
?reference note for reason: subject ~ [with the note|reference] "{x}"
- [Send|Pay|Transfer|Give] {0} {1} {2}{rest}[.|, please.|]
- [I owe|I have to pay] {0} {1} {2}{rest}[.|, send it.|]
= book_hotel hotel_search reserve_room; Book a room in a hotel.
city place location town: city ~ in {x}
nights stay num_nights length <n>: count ~ for {x} nights
?guests people persons <n>: count ~ for {x} [guests|people]
?arrival checkin date check_in_date: date ~ from {x}
- [Book|Find|Reserve|I need|We need|Get us] a [room|hotel|hotel room]{rest}[.|, please.|]
- [Could|Can|Would] you [book|find] a [room|hotel]{rest}?
"""
