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
[My|Our] [son|daughter|nephew|niece|grandson|little girl] [sits|is] [next to me|at the kitchen table|on my lap] with \
[a worksheet|her homework|a school book|a quiz card].
[My|Her|His] [homework|project|test|talk|essay] [is due|must be ready|has to be in] [on {day}|tomorrow|by tonight|at \
noon].
[The|My] [teacher|professor|tutor] [marks|checks|collects] it [on {day}|tomorrow|right after the break].
[I|We] [bet|have a bet with|made a bet with] {name} [over|for] [five euros|an ice cream|a coffee|a pint|ten pounds|a \
pizza].
The loser [pays|has to pay|cooks|washes up|buys the drinks] [tonight|on {day}|for everyone|].
{name} [thinks|claims|swears|is sure] [I am wrong|I'm wrong|she knows better|he knows everything] [and laughs at me|].
If I [win|am right], [{name}|my brother] [owes me|has to buy me|pays for] [a drink|a cake|{n} euros].
[We are|We're] at the [pub|bar|cafe|airport|dentist|hairdresser]  and [there is a quiz|the queue is long|it's loud].
[Our|My] quiz team [is called|plays as] "The {animals}" and [we lead by {n} points|we are last|{name} is our captain].
[We have|There are] [thirty seconds|a minute|two minutes] [left|on the clock][.|, hurry.]
[The|This] crossword [has|wants] [{n} letters|a short word] [here|in row {n}] and [I'm stuck|I am stuck|my pen is dry].
[I'm|I am] [eight|nine|ten|twelve|seventy|eighty] years old and [I love quizzes|still curious|in year four|retired].
[I'm|I am] [a nurse|a pensioner|a student|a mum of three|a bus driver|a baker] [from {city}|in {country}|] and [I like \
quizzes|new to computers|a bit shy].
[English|This language] is not my [first|mother] [language|tongue], [sorry|so excuse me|please be patient].
[Sorry|Excuse me|Sorry about this], my [spelling|English|keyboard|typing] is [bad|terrible|not good|broken].
[My|The] [granddaughter|wife|husband|son] [set this up|installed this|showed me how to use this] [yesterday|for me|].
[I|We] [used to know|once knew] [all of this|such things|every answer] [at school|when I was young|as a child].
Don't ask [why I need this|why|how I got here], [it's a long story|long story|trust me].
[It's|It is] [past midnight|three in the morning|lunch time|nearly nine] and [I can't sleep|the kids are awake|I'm \
hungry].
[Long|Busy|Nice|Strange] day[.| today.|, honestly.| at work.|, I tell you.]
[The|Our] [wifi|internet|power] was [off|down] [all day|since {day}|for {n} hours][.|, but now it works.]
[I|We] [just|] [moved|are moving] from {city} to {city2} [with|and have] [a {animal}|{n} boxes|two kids].
[My|Our] [flight|train] [leaves|goes] in {n} minutes  and [I'm bored|there is no coffee|{name} is late].
[I'm|I am] [writing|making|preparing] [a card|a speech|a quiz|a lesson|a story] [for|with] [{name}|my class|my \
mum|the kids].
[Yesterday|Last night|On {day}] [{name}|my dad|the man on TV] [asked|mentioned|talked about] something [like \
that|similar|], [and|but] [nobody answered|we all laughed|I fell asleep].
[There was|I saw] a [question|show|programme|clip|podcast] [about this|like this|about {animals}] [on TV|on the \
radio|online] [last night|on {day}|].
[My|Our] [class|group|team|table] [is learning|learns|does] [about|] [{country}|{animals}|numbers|words|{element}] \
[this \
week|right now|].
[I|We] [looked|searched] [everywhere|in three books|in the dictionary|on my phone] [and|but] [found nothing|gave up].
[My|The] [phone|tablet|laptop] [battery|screen] is [almost dead|at {n} percent|cracked], [so quick|so be fast|sorry].
[We|They] [are|were] [sitting|waiting] in the [car|bus|train|kitchen] [to {city}|for hours|] and [play|played] \
[quiz|a game].
[I|We] [painted|bought|saw] {n} {colour} {things} [and|but] [{name}|my aunt] [wants|likes] {colour2} ones.
[One|A] [{animal}|{animal2}] [sat|slept|ran] [in our garden|on the road|under the table] [this morning|on {day}|].
[I've|I have] [never|not] been [good at|any good with] [this|words|numbers|geography|school], [to be honest|sadly|as \
you see].
[Hope|I hope] [you're|you are] [well|having a good day|not too busy] [today|].
[I'm|I am] [sure|certain] [it's|it is] [easy|simple] [for you|], [but|only] [I can't think of it|not for me|my mind \
is blank].
[It's|It is] on the tip of my tongue[.|, really.|, but it won't come out.]
[Mum|Dad|My sister|Grandma] [says|thinks|told me] [you know everything|you can help|to ask you|computers know that].
[My|Our] [neighbour|colleague|flatmate] {name} [works|worked] for {n} years in {country}[.| as a cook.| as a teacher.]
[The|Our] [kids|pupils|guests|players] [get|have] [a point|{n} points|a sweet] for [each|every] [right|correct] answer.
[She|He] [is|was] [only|just] [four|five|six|seven] and [asks|asked] [so many questions|why all day|me all sorts of \
things].
[I|We] [want|wanted] to [surprise|impress|help] [{name}|my teacher|my grandson] [with|by knowing] [this|the answer].
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
[Long story short|To make it short|Short version|In a nutshell][,|:]
[So|Anyway], [quick one|one quick thing|here goes|here it is|help me out here][:|...]
[Could you|Can you|Would you] [settle it|settle this|tell us who is right|save me|help us win][?|:]
[So|And] [the question|what he asked|what she wants to know|the task|what we need|the clue] [is|was] [this|][:|,]
[She|He|The teacher|My boy|The host] [asked|asks|wants to know|said][:|,|, and I quote:]
[Our|The] [quiz|last|next|bonus] question[:| was:| is:| goes:]
[My|Our] [bet|argument] [is|was] about this[:|.]
[It|The card|The worksheet|The book] [says|reads|asks][:|,]
[Maybe|Perhaps|Surely] you [can help|know|remember][:|.|...]
[I wanted to ask|I have to ask|What I need|I just need to know][:|,|...]
* [Be that as it may|At all events|To cut it short][,|:]
* [Before I go on|Before the tea gets cold][,|:]
* [Here is what puzzles me|What bugs me is this][:|.]
"""
# A question inside a situation: {q} and {u} are the question, capitalised or not, and nothing follows it.
SITUATIONS = """
[My|Our] [son|daughter|nephew|niece|grandson|little boy] [came home from school|is doing homework|asked me at \
breakfast|keeps asking] and [I had no answer|I could not help|wants an answer|needs this]: {u}
I [bet|made a bet with] {name} [five euros|an ice cream|a coffee|ten pounds] that I can [find this out|answer \
this|get this right]: {u}
[The|My] [teacher|quiz master|host|boss] [looked at me|pointed at me|called my name] and [asked|said|wanted to \
know]: {u}
[In|On] [the quiz|the exam|the radio show|page {n}|my worksheet|a game show] [they asked|it says|there is|it asked]: {u}
[I'm|I am] [stuck|sitting] in [a waiting room|traffic|a boring meeting|bed with a cold] and [wonder|keep \
thinking|ask myself]: {u}
[I|We] [argued|fought|had a fight] with {name} [for an hour|all evening|about this], [so please|so] [settle it|end \
it|help]: {u}
[Picture this|Imagine this|Imagine]: [you are on stage|it is the final|a child asks you]. [The question is|You \
hear]: {u}
[A|Some] [man|woman|child|tourist|stranger] [on the bus|at the door|in the shop|in {city}] [asked me|wanted to \
know]: {u}
[If|Suppose] [a child|a stranger|my boss|{name}] asked you "{q}" what would you [say|answer]?
[How|What] would you [answer|reply to|say to] [a child|someone|my son|{name}] who asks "{q}"
{name} [texted|wrote|called] me [at midnight|yesterday|just now] [only|] to ask: {u}
[For|In] [my|our] [homework|test|school quiz|treasure hunt] [we|I] [have to|must] [answer|solve]: {u}
[It's|It is] [the last|the only|question {n}|the bonus] [question|thing] [on|of] [the sheet|the quiz|my list]: {u}
[Not sure|I don't know] [if|whether] you [can help|know this|do this], but {u}
[I|We] [feel|felt] [silly|stupid|a bit daft] [for asking|asking], but {u}
[This|It] [may|might|will] [sound|seem] [silly|strange|simple|easy], but {u}
[I|We] [know|knew] [this|it] [once|as a child|last week], but [not any more|now it's gone|I forgot]: {u}
[To|So that I can] [win|finish|pass|get my points] [I need|I must know] [this|the answer to this]: {u}
"""
# The same with something after the question.
SITUATIONS_WITH_CLOSE = """
[My|Our] [son|daughter|niece|pupil|grandson] [asked|asks] me: "{q}" [And I had no idea.|What do I tell him?|Help!|I \
said I would find out.|I was speechless.]
[I|We] [bet|have a bet with] {name}: {q} [The loser pays.|I say I know it.|Five euros are at stake.|Who is right does \
not matter.]
{q} [My|Our] [homework|quiz|essay|test] [depends on it|needs it|is due tomorrow|can't wait]. [Thanks|Thank you|Cheers].
[Hi|Hello|Hey], {name} here[.|!] {q} [Asking for a friend.|My son wants to know.|It's for school.|I'm in a hurry.]
{q} [It's|It is] for [my daughter's homework|a pub quiz|a bet|my crossword|school|a birthday card|my grandma].
{q} [I|We] [asked|tried] [{name}|everyone here|my dad|two teachers] [already|] and [nobody knew|got no answer].
{q} [That is|That's|It's] [all I need|the question|what he asked me|what it says here|question {n}][.|, thanks.]
[So|Well], I was [reading|cooking|walking|working] and thought: {q} [Weird, I know.|You know me.|Just curious.]
[On|In] [the bus|class|the pub|the garden] [someone|a boy|{name}] [asked|shouted]: {q} [Everyone went quiet.|I \
blushed.|Nobody answered.|We all looked at each other.]
[I can't|I could not] sleep. {q} [It keeps me awake.|Silly, isn't it?|Then I can rest.]
{q} [Don't laugh|Don't judge me], I [really|honestly] [forgot|don't know].
[My|The] [clue|card|sheet|screen] says "{q}" and [I am lost|I have no clue|I must answer|time is running out].
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
