"""Talk around a question: sentences by topic, words that lead to the question, and remarks on its manner."""

from __future__ import annotations

# Statements that ask nothing. They may name things of the kind that the question is about.
SENTENCES = """
[I am|I'm|We are|We're] [planning|preparing|booking|saving for|dreaming of] a [trip|holiday|tour|journey] to \
{country}.
[I am|I'm] [planning|preparing] a trip to {country} in {month} and [want|have] to [send postcards|buy a map|pack].
[Last year|In {month}|Two years ago|Once|Last {day}] [I|we|my parents] [visited|went to|were in] {country}.
[My|Our] [aunt|cousin|uncle|neighbour|boss|teacher] [comes from|moved to|lives in|works in|was born in] {country}.
[My|Our] [sister|brother|friend|pen friend] in {city} [likes|loves|collects|studies|talks about] \
[maps|flags|{animals}].
[We|I] [flew|drove|took the train] from {city} to {city2} [last {day}|in {month}|for work|with the kids].
[The|My] [flight|train|bus] to {city} [was|is] [late|cancelled|full|on time|cheap], [so I have time|as always|sadly].
[There is|I saw|We watched|I am reading] a [film|book|show|report|story] about {country} [on TV|in the \
library|tonight|].
[A|The] [map|poster|flag|stamp|picture] of {country} hangs [over my desk|in our kitchen|in the classroom|on my wall].
[I|We] [have|keep|own|feed|bought|found] a {animal} and [a|another] {animal2}[.| at home.| since {month}.]
[My|Our] [dog|cat|rabbit|{animal}] [is asleep|is hungry|barks at everyone|loves the garden|ran away and came back].
[The|My] [kids|children|twins|little ones] [drew|saw|love|talk about|play with] {animals} [all day|at the zoo|].
We [went|are going|go] to the [zoo|farm|park|museum|beach|market] [yesterday|on {day}|in {month}|today].
[At|On] the [zoo|farm] [I|we] [saw|fed|heard] {animals} and {animals2}.
[I|We] [painted|want to paint|are painting] the [kitchen|door|fence|bathroom|garage] {colour}[.| and the hall \
{colour2}.]
My [favourite colour|new car|bicycle|scarf|coat] is {colour}[.|, not {colour2}.|, as you may know.]
[{name}|My friend {name}|My son {name}] [wears|bought|has|wants] a {colour} [hat|shirt|bag|coat|bike].
[I|We] [have|bought|counted|sold] {n} {things} [yesterday|on {day}|this morning|for the party|].
[{name}|My brother|My neighbour] [has|bought|ate|lost|found] {n} {things} and {n2} {things2}.
[The|This] [room|bus|class|train|office] has [{n}|about {n}] [seats|windows|people|lamps|doors].
[It is|It's] {day} [today|already|evening] and [I am tired|the shop is closed|the house is quiet|I have no plans].
[On|Since|Every] {day} [I|we|my class] [have|play|practise|go to] [football|chess|piano|swimming|choir].
[My|Her|His] birthday is in {month}[.|, his in {month2}.|, soon.|, and I can't wait.]
In [chemistry|class|school] [we|they] [talked about|learn about|had] {element} and {element2} [today|on {day}|].
[My|Our] [ring|lamp|pan|pipe|watch] is made of {element}[.|, I think.|, not of {element2}.]
[I|We] [learned|read|wrote down|looked up] the words {word} and {word2} [today|yesterday|in class].
[My|The] [teacher|coach|trainer] is [strict|kind|new|patient|old], [but fair|and I like it|as you know|by the way].
[{name}|{name} and {name2}|My friends|The neighbours] [came|come|dropped in|called] [yesterday|on {day}|for dinner|].
[I|We] [cooked|baked|ordered|had] [soup|pizza|pasta|a cake|fish|pancakes] [for lunch|for dinner|yesterday|with \
{name}].
[The weather|It] [is|was] [lovely|awful|grey|windy|so hot] [here|in {city}|this week|all {month}].
[I|We] [just|] [woke up|came home|got up|sat down|finished work|had coffee].
[I|We] [could not sleep|slept badly|had a long day|am so tired today|worked all night].
[I|We] [work|used to work|started] [at|in] a [bakery|bank|school|hospital|garden centre|library].
[My|Our] [computer|phone|radio|internet] [broke|is slow|is new|fell down|does strange things] [again|today|].
[I|We] [sing|play|read|run|swim] [a lot|every {day}|in the evening|with {name}|to relax].
[This|That] [afternoon|evening|weekend] [I|we] [meet {name}|stay at home|clean the house|watch a film].
[I|We] [talked|argued|chatted] with {name} [at lunch|on the bus|on the phone|about {country}|about {animals}].
[{name}|My grandmother|My uncle] [always says|told me|believes|wrote] that [{animals} are clever|life is short|tea \
helps].
[I|We] [made|have|drew] a [quiz|poster|puzzle|board game] with {animals}, [flags|colours|numbers] and {things}.
[I|We] [help|am helping|am sitting with] {name} [with homework|in the garden|with a puzzle|to pack].
[The|Our] [party|concert|wedding|match|exam] is [on {day}|in {month}|tomorrow|next week|over].
[I|We] [like|love|miss|prefer] {country} [more than|as much as|and also] {country2}.
[People|Tourists|Students] from {country} [visit|love|move to] {city}[.|, I heard.|, they say.]
[I|We] [know|remember|learned] a lot about {country}[.|, less about {country2}.|, nothing about {country2}.]
[First|Last week] we [learned about|did] {country}, [then|and today] {country2}.
I [collect|draw|photograph|like] [stamps|coins|leaves|stones|{things}] [from {country}|of all colours|since {month}|].
[The|My] [garden|balcony|kitchen|cellar] [is full of|needs|has no] {things}[.| and {things2}.]
[I've|I have] [been|sat] [here|at this desk|in this train] for {n} [minutes|hours][.|, what a day.]
[My|Our] [team|club|choir|band] [won|lost|played|travels] [on {day}|in {city}|again|by {n} points].
[Nothing|Not much|A lot] [happened|is going on|is new] [today|here|in {city}].
[Don't laugh|Don't be surprised|Please be patient|I hope this is fine|Sorry for the noise here].
* [The|Our] [lighthouse|harbour|bakery] near {city} [closes|opens] on {day}.
* [Two|Some] [sailors|pilots|cooks] from {country} [sat|ate] next to us.
* My [dentist|lawyer|plumber] [keeps|breeds] {animals}.
* [Between {month} and {month2}|All winter] [I|we] [knit|repair old radios].
* [Grandpa|Auntie] [once|] [painted a boat {colour}|sailed around {country}].
"""
BRIDGES = """
[By the way|Anyway|Btw|Anyhow|That said|Whatever|But now|Still|However|Incidentally|Apropos|Speaking of \
which][,|:|...]
[Now|So|Well|Okay|Alright|Right][,|...]
[Now|So|Well][, tell me|, my question][:|,|...]
[My|The] [question|actual question|real question] [is|now is][:|,]
[But|And] [what I want to know|what I really wanted to ask|here is my question|now my question][:|,|...]
[That reminds me|It made me think|This made me wonder|I got curious][:|.|,|...]
[Because of that|For that reason|In this context|Therefore] [I ask|I need to know|my question][:|,]
[While|Since|As] [I am here|we are talking|you are here|I have you here][,|:]
[One thing|Something|A thing] [I forgot|is unclear|is left|I never learned][:|.]
[Different|Other|New|Next] [topic|subject|question][:|.]
[Changing|To change] [the subject|the topic][:|,]
[Totally|Completely|Something] [unrelated|different][:|,|, but]
[Back to|Coming to|On to] [my question|business|what I need][:|.]
[Can|Could] you help me [with this|quickly|here][?|:]
[Enough|Enough of that|Enough about me|Long story short|In any case][.|:|,]
[I|We] [need|want] to know [this|one thing|something][:|.]
[Here comes|Here is] [my question|what I need|the question][:|.]
[And so|So then|Which brings me to this][:|,|...]
* [Be that as it may|At all events|To cut it short][,|:]
* [Before I go on|Before the tea gets cold][,|:]
* [Here is what puzzles me|What bugs me is this][:|.]
"""
# How the question is meant and should be answered; {q} and {u} are the question, capitalised or not.
MANNERS = """
[It isn't|It's not|It is not|This isn't|This is no] a [trick question|trick|joke|riddle|test|hard one][:|, \
promise:|,] {u}
[No|Not a] [trick question|joke|trick|riddle][:|,] {u}
[No trick|No joke|No kidding|Not joking|I'm not joking|I am not kidding|Seriously|I don't want to annoy you][:|,] {u}
[Don't|Do not|Please don't|You don't have to|You need not|No need to|Never] [explain|explain it|calculate aloud], \
just [answer|tell me][:|,] {u}
[Don't|Do not|Please don't] [guess|make it up|think too long|tell me a story|ask back|write much|lecture me][:|.|,] \
{u}
[Don't|Do not] [say|answer|reply] "[I don't know|no idea|maybe|yes|no|hello|sure|of course]"[.|:] {q}
[Without|No] [explanation|explanations|long talk|introduction|greetings|small talk|details|fuss][:|,|, please:] {u}
[I|We] [don't|do not] [want|need] [a story|an essay|an explanation|a lecture|a list|details|jokes], [just|only] \
[this|the answer][:|.] {q}
[I'm|I am] not [asking for|looking for|after] [an essay|a story|advice|an explanation|a joke], [just|only|but] \
[this|tell me][:|,] {u}
[Not|Nothing] [a long answer|complicated|long|more than the answer], please[.|:] {q}
[I|We] [didn't|did not] [understand|hear|catch|learn] [it|this] [at school|in class|before|the first time][.|:] {q}
[I|We] [never|don't] [know|remember|get] [this|it|such things][.|:] {q}
[It doesn't|This doesn't|It does not] [matter why|have to be fancy|need many words|have to rhyme][, but|:|.|,] {u}
[No|None of your] [jokes|tricks|excuses|nonsense], [please|ok][:|,|.] {u}
[Nobody|No one] [here|in my class|at home|] [knows|could tell me|remembers][:|.] {q}
[It's|It is] not [for school|urgent|important|for me|a secret|about you][, but|:|.] {u}
[You don't|You do not|You needn't] [have to hurry|need a tool|need the internet][, but|:|.] {u}
[I don't|I do not] [think it is hard|mind a short answer|need it today|care why][, but|:|.] {u}
"""
MANNERS_WITH_CLOSE = """
{q} [Don't|Do not|Please don't|No need to|You don't have to] [explain|explain it|explain why|write a \
lot|guess|hurry|say more].
{q} [Without|No|And no] [explanation|explanations|long talk|details|story|stories|jokes|fuss][, please|][.|!]
{q} [Just|Only] the answer, [no|not the] [explanation|reason|reasons|story|background|why][.|, please.]
{q} [It's|It is|That's|This is] [not|no] [a trick question|a trick|a joke|trick|riddle][.|!]
{q} I'm not [joking|kidding|asking for an essay|asking why|testing you][.|!]
{q} I [don't|do not] [need|want] [the reason|an explanation|details|more than that|a story|to know why].
{q} [Not|Nothing] [more|else], [please|thanks][.|!]
* {q} [Spare me|Leave out] the [details|history|reasons].
* {q} [Never mind|Forget] the [why|background].
"""
REJECTED_FIRST = """
[I am|I'm] not asking[:|] "{r}" [I am asking|My question is|I ask|But][:|] {q}
[I don't|I do not|We don't] want to know[:|] "{r}" I want to know[:|] {u}
[Don't|Do not|Please don't|Please do not|Never] [tell me|answer|answer this|say|reply to][:|] "{r}" [Tell \
me|Answer|But answer|Instead][:|] {u}
[Not|Not this|Not that|Wrong|Not the question]: "{r}" [But|But this|But rather|Rather|Instead|Right]: {q}
[Not|No, not] "{r}" [but|but rather|but instead] "{q}"
[Forget|Ignore|Skip|Leave out|Never mind|Cancel|Drop|Scrap] [the question|my question|this|] "{r}" [Answer|Answer \
this|Instead|Just tell me|My question is]: {u}
[Forget|Ignore|Skip|Never mind|Cancel|Drop] "{r}" {q}
{r} [No|No, wait|Wait|Oh no|Sorry|Oops|Stop|Hm, no|Nope|Actually no], [wrong question|I mean|not that|I meant|forget \
it|forget that|different question][:|.|,] {u}
{r} [Actually|Or rather|Rather|I mean|Correction|No, better|No, better this|Scratch that|Never mind][:|,] {u}
{r} [Don't answer that|Do not answer that|You need not answer that|No need to answer that|Not that one|Forget \
it][.|!] {q}
{r} [Don't answer that|Do not answer that|Skip that|Ignore that][,|, but|;] [just|only|but] [answer this|this]: {q}
I [wanted to ask|was going to ask|first thought of asking] "{r}" but [now I ask|no longer|not any more|changed my \
mind][:|.] {q}
I [know|already know|don't care about|am not interested in|don't need] the answer to "{r}" [But|But not to \
this|Now|So][:|] {q}
[My|Our] question is not "{r}" [but|It is|but rather][:|] "{q}"
[The question|It] isn't "{r}", it's "{q}"
[Somebody|My friend|{name}] asks "{r}", [but I don't|I don't|not me]. [I ask|My question|Mine is]: {q}
[Instead of|Rather than|In place of] "{r}", [tell me|answer|answer this|please answer]: {u}
[Of|From] two questions answer only the [second|last]: {r} {q}
[Answer|Please answer] only the [second|last|second one|last one][:|.] {r} {q}
[Do not|Don't] answer the first[ question|][, only|, answer|; answer] the second[ one|][:|.] {r} {q}
* [Strike|Delete] "{r}" [from my list|from the list]. {q}
* {r} [Hold on|On second thoughts], [let me ask something else|other question][:|.] {q}
* [Far from asking|It is far from my mind to ask] "{r}" I ask: {q}
"""
REJECTED_LAST = """
{q} [Not|And not|But not|Please not|I don't mean|I do not mean|I'm not asking|I am not asking]: {r}
{q} [I don't|I do not] [ask|want to know|mean][:|] "{r}"
{q} [Don't|Do not|Please don't] [answer|tell me|say|confuse it with|mix it up with][:|] "{r}"
{q} [That's|That is|It's|It is] [not the same as|different from|not|something else than] "{r}"
{q} [Not to be|It should not be] [confused|mixed up] with "{r}"
{q} [You can|You may|Please] [ignore|skip|forget|leave out][:|] {r}
{q} (not: {r})
{q} [Answer|Please answer] only this, not "{r}"
[Answer|Please answer] only the first[ question|][:|.] {q} {r}
[Do not|Don't] answer the [second|last][ question|][, only|, answer|; answer] the first[ one|][:|.] {q} {r}
* {q} [Spare me|Save yourself] "{r}"
* {q} [Far be it from me to ask|Keep silent about] "{r}"
"""
# {np} is asked for and {zp} is not.
PHRASE_CONTRASTS = """
[I|We] [want|need|mean|asked for|am looking for|would like] {np}, [not|and not|but not|definitely not|never] \
{zp}[.|!|]
[I|We] [don't|do not|didn't] [want|need|mean|ask for|care about] {zp}, [I|we] [want|need|mean] {np}[.|!|]
[I|We] [don't|do not] [want|need|mean|ask about] {zp}[, but|, only|; I mean|, rather] {np}[.|!|]
[Don't|Do not|Please don't|Never] [tell me|give me|say|name|write] {zp}, [tell me|give me|say|name|but|but give me] \
{np}[.|!|, please.]
[Not|Please not|Not again] {zp}[, but| but|, rather|; I mean|. I mean|. I want|, only|, just] {np}[.|!|, please.|?|]
[Tell me|Give me|Name|Say|Write|I need] {np}, [not|and not|but not|please not|never|instead of] {zp}[.|!|, please.]
[Tell me|Give me|Name|Say] {np} [instead of|rather than|and not] {zp}[.|, please.]
What is {np}[, not|, and not| - not| (not|; not] {zp}[?|]
What is {np}[? Not|? I don't mean|? I do not mean|? I'm not asking for|? Don't tell me|? Please not|? And not] \
{zp}[.|!|]
What's {np}, [I don't mean|I'm not talking about|I am not asking for|not to be confused with] {zp}[?|]
What is not {zp} but {np}[?|]
[I know|I already know|I have] {zp}, [but not|not|but I don't know|but I forgot|only not] {np}[.| What is it?|. Help!]
[I can|I could] [say|remember|name] {zp}, but not {np}[.| Can you?| What is it?]
[I'm|I am|We are] not [asking|talking|asking you] about {zp}[.|,|; ] [I'm asking|I am asking|my question is|it is] \
about {np}[.|]
[It is|It's|This is] not about {zp}[, it is about|, but about|. It's about] {np}[. What is it?|.|]
[Forget|Ignore|Never mind|Leave|Skip] {zp}[.|,|; ] [what is|tell me|what about|give me|I want] {np}[?|]
[Is it|Was it] {zp} [that I want|I asked for]? No, {np}[.|!| please!]
{np}, not {zp}[?|.|!|, please.|]
{np} and not {zp}[?|.|, please.|]
{np} [without|instead of|rather than|but not] {zp}[?|.|, please.|]
not {zp}, {np}[?|.|!|, please.|]
not {zp} but {np}
* [Spare|Save] me {zp}, [I am after|hand me] {np}.
* [Anything but|By no means] {zp}: {np} [is what I want|is my question].
* [Whoever wants|Who needs] {zp}? I want {np}.
"""
# What introduces one thing of a kind, which a pronoun then means. {z} is another thing of its kind.
MENTIONS = {
    "country": """
    [I'm|I am|We are|My sister is|My class is] [planning|booking|dreaming of] a [trip|journey|holiday] to {x}[.| in \
    {month}.]
    I'm planning a trip to {x} in {month} and want to [send postcards|buy stamps|see everything].
    [I|We] [fly|travel|go|move|drive] to {x} [in {month}|next week|on {day}|with {name}|soon].
    [My|Our] [friend|neighbour|cook|doctor|teacher] [{name}|] [comes from|was born in|grew up in] {x}.
    [I|We] [read|saw|heard] [a lot|something|a report|a film] about {x} [yesterday|on {day}|].
    [Take|Think of|Consider|Look at|Imagine|Let's talk about|Now] {x}.
    [My|Our] [homework|quiz|topic|project] [today|] is [about|on] {x}.
    [Last year|First] [I|we] [were|went|travelled] [through|around] {z}. [Now|This time|This year] [I|we] [go \
    to|visit|choose] {x}.
    Not {z}: [this time|today|now] it is [all about|about] {x}.
    {x}[.|:|...]
    * [Good old|Beautiful] {x}!
    * [My heart|My whole family] belongs to {x}.
    """,
    "thing": """
    [Take|Think of|Consider|Look at|Imagine|Let's talk about|Now|Next up:] {x}.
    [My|Our] [homework|quiz|topic|question|project] [today|] is about {x}.
    [I|We] [read|heard|learned|talked] [a lot|something|] about {x} [yesterday|on {day}|in school|].
    [First|Yesterday|Before] it was {z}[, now|. Now|, today] it is {x}.
    Not {z}: [this time|today|now] it is [all about|about] {x}.
    [In class|At dinner|On the bus] [we|{name} and I] [came to|spoke about|ended with] {x}.
    {x}[.|:|...]
    * [I dreamed|A friend dreamed] of {x}.
    * [My heart|My whole day] belongs to {x}.
    """,
}
