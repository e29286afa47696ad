"""What people put into the arguments of tools: a grammar for each kind of value.

`= name` begins a kind; <name> in a line stands for the lines of a kind above it.
"""

from __future__ import annotations

VALUES = """
= noun
[window|garden|invoice|passport|umbrella|battery|charger|bicycle|curtain|carpet|mirror|ladder|bucket|kettle|drawer]
[keyboard|printer|backpack|wallet|helmet|blanket|pillow|candle|basket|engine|tyre|brake|fence|roof|chimney|pipe]
[report|contract|budget|letter|parcel|ticket|receipt|presentation|agenda|survey|manual|draft|essay|poster|leaflet]
[kitchen|cellar|balcony|hallway|library|museum|pharmacy|bakery|station|harbour|airport|stadium|office|bank|school]
[river|forest|meadow|island|valley|storm|thunder|sunset|shadow|feather|pebble|branch|blossom|acorn|snowflake]
[teacher|doctor|plumber|dentist|neighbour|colleague|manager|driver|grandma|cousin|landlord|nurse|coach|barber]
= adjective
[new|old|big|small|red|green|broken|clean|quiet|heavy|cheap|fresh|warm|cold|early|late|final|second|blue|spare]
[wooden|rusty|plastic|empty|full|lost|famous|local|weekly|annual|silver|golden|bright|narrow|gentle|lonely|wild]
= dish
[pancakes|lasagne|goulash|risotto|omelette|pizza|tomato soup|apple pie|fish curry|potato salad|lentil stew|waffles]
[mushroom soup|onion tart|fried rice|chicken wings|noodles|carrot cake|chili|paella|dumplings|hummus|cheese toast]
[[pumpkin|leek|bean|rice|salmon|lemon|plum|nut|spinach|corn] [soup|cake|curry|salad|pie|bread|pasta|tart]]
= item
[milk|bread|eggs|apples|oranges|batteries|light bulbs|toothpaste|shampoo|dog food|olive oil|flour|yoghurt|bananas]
[onions|potatoes|candles|pencils|notebooks|napkins|paper towels|cat litter|tea bags|coffee beans|tins of tuna|nails]
[<adjective> [socks|gloves|chairs|plates|cups|towels|boxes|shirts|screws|balls|flowers|books]]
= errand
[buy|get|fetch|order] [<item>|the <noun>|a <adjective> <noun>]
[call|ring|visit|meet|thank|pay|email|text] [the <noun>|my <noun>|<name>|the bank|mum|dad]
[clean|fix|repair|paint|check|sell|move|close|lock|wash|replace] the [<noun>|<adjective> <noun>]
[water the plants|feed the cat|walk the dog|take out the rubbish|do the laundry|pack the suitcase|take my pills]
[finish|send|print|sign|read|write|return|renew] [the|my] [<noun>|<adjective> <noun>]
[pick up|drop off|bring back|hand in] [the <noun>|<name>|the kids|my <noun>]
= occasion
[dentist|yoga|lunch|dinner|team meeting|piano lesson|football practice|job interview|board meeting|haircut|exam]
[birthday party|parents evening|book club|choir|swimming|checkup|budget review|concert|wedding|weekly call|workshop]
[lunch|dinner|coffee|meeting|call|tennis|golf|chess|breakfast] with [<name>|the <noun>|mum|grandpa]
[<noun>|<adjective> <noun>] [meeting|review|inspection|repair|lesson|appointment|talk|party]
= statement
[I am|I'm|We are|She is|They are|He is] [running late|on my way|at home|on the train|not coming|sick today|almost there]
[I|We|They] [will be|won't be|can't be|might be] [late|there|home|ready|back] [tonight|soon|by noon|tomorrow|]
the [<noun>|keys|kids|<adjective> <noun>] [is|are] [on the table|in the <noun>|under the mat|ready|gone|at <name>'s]
[happy birthday|good luck|get well soon|thank you so much|see you later|call me back|safe travels|congratulations]
[dinner|lunch|the meeting|the film|class] [is|starts] [ready|cancelled|at noon|in an hour|moved to Friday]
[bring|don't forget|please take|buy|I lost|I found] [the <noun>|some <item>|my <adjective> <noun>|your <noun>]
[we|I] [need|want|love|miss|sold|bought] [a <noun>|the <adjective> <noun>|you|more <item>]
[where|when] [are you|is the <noun>|do we meet|did you put the <noun>]
= foreign
[good morning|good night|thank you|excuse me|I am lost|how much is it|where is the <noun>|my name is <name>|cheers]
[I would like <item>|I need a <noun>|the <adjective> <noun>|one ticket please|see you tomorrow|I love you|help]
[do you speak English|we are from <city>|the <noun> is <adjective>|<noun>|<adjective>|can I pay by card]
= title
[<Adjective> <Noun>|The <Noun>|The <Adjective> <Noun>|<Noun> and <Noun>|<Name> and the <Noun>|<Noun> of the <Noun>]
[My <Noun>|Under the <Noun>|Dancing <Noun>|Hello <Name>|<Name>|Goodbye <City>|Back to <City>|<Adjective> Days]
[Yesterday|Tomorrow|Summer Rain|Home Again|One More Night|Let It Shine|Blue Monday|Two Hearts|Never Alone]
= subject
[<noun>|<adjective> <noun>|<occasion>|question about the <noun>|Your <noun>|The <adjective> <noun>|Invoice {n}]
[Holiday|Greetings|News|Meeting notes|Application|Complaint|Party on Friday|Project <Name>|Trip to <City>]
= query
[best|cheap|nearest|used|good] [<noun>|<item>|<adjective> <noun>|hotels|restaurants|shoes] [|in <city>|near me|]
how to [<errand>|cook <dish>|grow a <noun>|tie a knot]
[history of|pictures of|facts about|reviews of|price of] [the <noun>|<city>|<item>|<adjective> <noun>]
[<noun> <noun>|<adjective> <noun>|<city> <noun>|<dish>]
= restaurant
[<Name>'s|Chez <Name>|Casa <Name>|The <Adjective> <Noun>|The <Noun>|<Name>|La Luna|Bella Italia|Golden Wok|Trattoria \
<Name>]
= place
[airport|station|museum|hotel|office|harbour|hospital|old town|theatre|city hall|main station|<noun>]
[{n} [Oak|Mill|King|Park|Church|River|Station|<Noun>] [Street|Road|Lane|Avenue|Square]|<City>|<City> airport]
= fullname
[<name>|<name>|<name>|<name> [Smith|Miller|Brown|Garcia|Rossi|Novak|Kim|Weber|Silva|Olsen|Murphy|Tanaka|Dubois]]
[Mr|Mrs|Dr|Ms] [Smith|Miller|Brown|Garcia|Rossi|Novak|Kim|Weber|Silva|Olsen|Murphy|Tanaka|Dubois]
= date
[today|tomorrow|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|next week|tonight|this weekend]
[Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|tomorrow|today]
[next [Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday]|{d} [January|March|May|June|August|October]]
[[April|July|September|November|December] {d}|2026-0{k}-1{k}|2027-1{b}-0{k}]
= hour
[{h}:{m}|{h}:{m}|{h}:{m}|{h}:{m}|0{k}:{m}|{k}:{m}]
[{k} am|{k} pm|{k}pm|{k}am|noon|midnight|{k} o'clock]
= pet
[cat|dog|rabbit|hamster|parrot|goldfish|pony|turtle|guinea pig|kitten|canary|<name>|<name>]
= plant
[rose|fern|cactus|basil|orchid|palm|tomato|lemon tree|mint|ivy|tulips|bonsai|sunflower]
= device
[heater|fan|television|oven|dishwasher|radio|washing machine|lamp|coffee machine|vacuum|projector|<noun> lamp|kettle]
= room
[kitchen|bedroom|bathroom|garage|office|hall|garden|attic|living room|cellar|nursery|guest room|studio|balcony]
= door
[front door|back door|garage|garden gate|cellar|<adjective> door|<noun> door|main entrance|balcony door|shed]
= team
[Arsenal|Ajax|Barcelona|Chelsea|Liverpool|Lakers|Bulls|<City>|<City> United|Real <City>|the <Noun>s|FC <City>]
= ticker
[{A}{A}{A}{A}|{A}{A}{A}|{A}{A}|{A}{A}{A}{A}|<City>|<Name>]
= code
[{A}{n}{n}|{A}{A}{n}|{n}{n}|{A}{n}-{n}|{A}-{n}{n}|{n}{A}{A}|#{n}{n}|{A}{A}{A}-{n}]
= file
[<noun>|<noun>_<noun>|<noun>-{n}|<adjective>_<noun>|<Noun>{n}].[pdf|txt|csv|png|jpg|docx|xlsx|md|zip]
[<noun>_<noun>|<name>_<noun>|{A}{n}|<name>].[pdf|txt|csv|png|jpg|docx|xlsx|md|zip|mp3|json|py]
= email
[<name>|<name>.<noun>|<noun>|info|{A}.<name>]@[<noun>|example|mail|<adjective><noun>|<city>].[com|org|net|de]
= language
[French|German|Spanish|Italian|Japanese|Polish|Dutch|Greek|Chinese|Korean|Turkish|Swedish|Arabic|Portuguese|Czech]
= currency
[euros|dollars|yen|pounds|francs|pesos|rupees|kronor|EUR|USD|GBP|JPY|CHF|euro|dollar|pound|yuan|lira|zloty|won]
= unit
[kilometres|miles|metres|feet|inches|centimetres|kilograms|pounds|grams|ounces|litres|gallons|celsius|fahrenheit]
= label
[pasta|tea|laundry|pizza|cake|oven|nap|eggs|homework|workout|rice|meditation|break|washing machine|<noun>|bread]
= site
[Wikipedia|YouTube|Reddit|GitHub|Amazon|<noun>.com|<name><noun>.org|the <noun> page|BBC]
= genre
[jazz|rock|classical|folk|reggae|blues|techno|soul|swing|opera|crime|fantasy|comedy|horror|drama|poetry]
= colour
[red|green|blue|yellow|white|purple|orange|pink|turquoise|violet|warm white|light blue|dark red]
= field
[temperature|sky|status|price|score|goals|distance|duration|total|result|title|weather|humidity|wind|rating|answer]
[order_id|arrival|departure|name|amount|state|message|city|translation|balance|position|level|num_items|next_train]
[<noun>|<noun>_[id|name|status|time]|rain|due_date|address|phone|delivery|temperature_c|open_until|stars|seats]
= status
[ok|done|started|shipped|delivered|sent|cloudy|sunny|rainy|open|closed|confirmed|saved|waiting|paid|booked|snowy]
[on its way|in transit|out of stock|not found|ready|cancelled|ringing|half full|light rain|clear sky|won 3 to 1]
= problem
[unknown|missing|wrong|no such|invalid] [address|city|file|number|<noun>|order]
[the <noun> is [closed|offline|broken|full]|no connection|permission denied|too many requests|timed out|try later]
[no [tables|rooms|seats|flights|trains] [left|free|found]|nobody answered|the device is off|out of paper]
"""
