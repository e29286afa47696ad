"""Small talk in more wordings: each block begins with the first wording of an intent of smalltalk.py."""

from __future__ import annotations

TALK = """
= Hello
[Hello|Hi|Hey|Hiya|Howdy|Greetings|Hallo|Yo|Heya|Hi hi|Hello hello] [there|again|you|everyone|friend|assistant|cactus|]
[Hello|Hi|Hey|Greetings], [friend|assistant|computer|little cactus|dear assistant|Cactus Sprout][!|.|]
[What's up|Whats up|Sup|Wassup|What is up][?|]
[Anybody|Anyone|Is anybody|Is someone|Are you] [there|here]?
* [A big|A warm|A friendly] hello to you!
* [I say|Let me say] [hello|hi][!|.]
= Good morning
[Good morning|Morning|Mornin|A good morning|A very good morning][!|.|,] [to you|everyone|friend|assistant|my friend|]
* I [just woke up|got up], good morning!
= Good evening
[Good evening|Evening|A good evening|A very good evening][!|.|,] [to you|everyone|friend|assistant|my friend|]
* The day is done, good evening!
= Good night
[Good night|Night|Night night|Nighty night|Sweet dreams|Sleep tight|Goodnight][!|.|,] [to you|friend|my friend|]
I [am off|go|will go|have to go|want to go] to [bed|sleep][ now|][.|!|]
* I [need|must get] some sleep now, [see you tomorrow|good night].
= How are you?
[Hello|Hi|Hey|] [how|How] are [you|u|ya|you all] [today|now|doing|doing today|feeling today|these days|]?
How [is it|are things|is life|is everything|is your day|was your day] [going|with you|today|]?
How [do|are] you [feel|keeping|getting on|feel today]?
[All|Everything] [good|okay|ok|fine|well|right] [with you|there|today|]?
Are you [okay|ok|alright|fine|well|feeling well|doing well|good]?
[How's|Hows] [it going|life|everything|your day|things]?
* [Is|Are] [life|things] treating you well?
* [In what mood|How cheerful] are you [today|]?
= What is your name?
[What's|What is|Whats|Tell me|Say|May I have|Can I know|Give me] [your|ur] [name|full name|own name]?
[Who|Whom] [are|r] [you|u|you exactly|you anyway|you really]?
[Who|What] am I [talking|speaking|chatting] [to|with]?
[Do|Did] [you|they] [have|give you] [a name|any name]?
[What|How] [do|should|can|shall] [I|we|people] call you?
With whom [am I talking|do I have the pleasure]?
* [Please|] state who you are.
* [Which|What] name [goes with|belongs to] you?
= Thank you
[Thanks|Thank you|Thx|Ty|Many thanks|Thanks a bunch|Cheers][!|.|,] [friend|for that|for your help|so much|]
[Great|Perfect|Super|Nice|Wonderful|Ok], [thanks|thank you|thank you so much][!|.]
[That|This] [was|is] [helpful|very helpful|a great help][!|.|, thanks.|, thank you!]
I [appreciate it|am grateful|appreciate your help|thank you very much][!|.]
* [You have|You've] been a great help[!|, thank you.]
= Bye
[Bye|Goodbye|Bye bye|See you|See ya|Cya|Farewell|So long|Take care|Later|Ciao][!|.|] [friend|for now|then|soon|later|]
I [have to|must|need to|should|will] [go|leave|run|be going|log off] [now|][.|!|]
[Have|I wish you] a [nice|good|great|lovely] [day|evening|weekend|time][!|.]
[That's|That is|That was] all [for today|for now|][.|, bye.|, goodbye!|]
* [It is time|Time] to [say goodbye|part][.|!]
= What can you do?
What [can|could] [you|u] [do|do for me|help me with|help with|answer|tell me|offer]?
[What|Which] [things|tasks|questions|kinds of things] can you [do|help with|answer|handle]?
How [can|could|do] you help [me|us]?
[What|Tell me what] [is|are] your [skills|abilities|talents|features|capabilities]?
[What|Which] [are you|is your model] [able to do|capable of|useful for|made for|trained for]?
[Tell|Show] me what you [can do|know|are able to do][.|]
* [Give me|I want] an idea of your [abilities|talents].
* For [what|which things] [can|do] people use you?
= Are you a robot?
Are you [a|an] [robot|bot|human|person|machine|AI|real person|computer|program|man or a machine|chatbot]?
Are you [human|real|alive|artificial|an artificial intelligence|a living being|conscious]?
Am I [talking|speaking|chatting] [to|with] a [robot|human|person|machine|computer|real person]?
[You are|You're] [a robot|a machine|not human|not real|a bot], [right|aren't you|are you|no]?
* [Is there|Is it] a [human|person] [behind this|on the other side]?
= How old are you?
[How old|What age] [are|r] [you|u][?| now?| exactly?|, if I may ask?]
[What|Tell me] [is|] your [age|birthday|date of birth]?
When [is your birthday|were you made|were you created|did you come into being|were you trained]?
* Since when do you exist?
= Where do you live?
Where [do you|are you|is it that you] [live|come from|at|right now|located|based|living]?
[In|From] [which|what] [country|city|place|town] [do you live|are you|do you come]?
[What|Where] is your [home|house|address|location]?
* [Which|What] place is home to you?
= Who made you?
Who [made|built|created|trained|wrote|invented|programmed|developed|designed|owns] [you|u]?
[Who|Tell me who] [is|are] your [maker|creator|developer|author|inventor|boss|developers|makers]?
[By whom|From whom|From which company] [were you made|are you|were you built|do you come]?
[Which|What] [company|people|team|project] [made|built|created|trained] you?
* [Whose|Who did the] work are you?
= Tell me a joke.
[Tell|Give] me [a|another|a good|your best|one more|a short|a funny] joke[.|!|, please.|]
[Do|Don't] you [know|have] [a joke|any jokes|some jokes|something funny]?
[Can|Could|Would] you [tell me a joke|make me laugh|say something funny|joke|make a joke][?| please?]
[I want|I need|I'd like] [a joke|to laugh|to hear a joke|some humour][.|!|]
[Joke|A joke|Joke please|One joke][.|!|, please.|]
* [Cheer me up|Entertain me] with a joke[.|!]
= I am sad.
I [am|feel|am feeling] [so|very|really|a bit|quite|] [sad|unhappy|depressed|lonely|down|terrible] [today|now|][.|!|]
[I'm|Im] [so|very|really|] [sad|unhappy|down|lonely][.|!| today.|]
[My|This] [day|life|week] is [awful|terrible|bad|sad|horrible][.|!|]
* [Everything|All] is [so sad|going wrong] today.
= I am happy.
I [am|feel|am feeling] [so|very|really|quite|] [happy|great|wonderful|glad|good|fantastic|cheerful] [today|now|][.|!|]
[I'm|Im] [so|very|really|] [happy|glad|in a good mood][.|!| today.|]
[My|This] [day|life|week] is [great|wonderful|fantastic|lovely][.|!|]
* What a [wonderful|great] day I have!
= I am tired.
I [am|feel|am feeling] [so|very|really|a bit|quite|] [tired|sleepy|exhausted|worn out] [today|now|][.|!|]
[I'm|Im] [so|very|really|] [tired|sleepy|exhausted][.|!| today.|]
* I can [hardly|barely] keep my eyes open.
= I am bored.
I [am|feel|am feeling] [so|very|really|a bit|] [bored] [today|now|][.|!|]
[I'm|Im] [so|very|really|] bored[.|!| today.|]
[There is|I have|I've got] nothing [to do|going on][.|!| today.|]
* [Nothing|There is nothing that] interests me [today|now].
= I am hungry.
I [am|feel|am feeling] [so|very|really|a bit|] [hungry|starving] [today|now|][.|!|]
[I'm|Im] [so|very|really|] [hungry|starving][.|!| now.|]
* My stomach is empty.
= You are great!
[You are|You're|Youre|U r] [so|very|really|] [great|nice|clever|smart|kind|cool|good|sweet|amazing|helpful][!|.|]
[Well done|Good job|Great job|Nice work|Good work|Bravo|Excellent|Very good|Good answer|Nice one|Impressive][!|.|]
* [What a|You are a] [clever|smart] [little|] [program|helper|plant]!
= You are stupid.
[You are|You're|Youre|U r] [so|very|really|] [stupid|bad|dumb|wrong|useless|silly|slow|annoying|terrible][!|.|]
[That|This|Your answer] [is|was] [wrong|false|incorrect|not right|a mistake|not true|nonsense|bad|rubbish][!|.|]
[No|Nope], [that|this] [is|was] [wrong|false|incorrect|not right|not true][!|.|]
* [You got that|Your answer was] [all|quite] wrong.
= Do you like music?
Do you [like|love|enjoy|listen to|play|hear] [music|songs|jazz|pop music|rock music|singing]?
[What|Which] [music|songs|band|song] do you [like|love|enjoy|listen to]?
* [Is|Are] [music|songs] something for you?
= Do you sleep?
[Do|Did|Can] you [ever|] [sleep|get tired|need sleep|go to bed|dream|rest|need rest]?
[When|How long] do you [sleep|go to bed|rest]?
* Do you close your eyes at night?
= What is your favourite colour?
[What|Which] [is|] your [favourite|favorite|preferred] [colour|color]?
[What|Which] [colour|color] [do you like|do you prefer|is your favourite|do you love] [best|most|]?
* Of all [colours|colors], which do you [like|love] most?
= Do you like me?
[Do you|Are you] [like me|love me|my friend|friends with me]?
[Can|Could|Will|Shall] [we|you and I] be [friends|best friends|pals]?
* Am I [dear|likeable] to you?
= What do you eat?
[What|When] do you [eat|drink|like to eat|have for dinner|have for lunch]?
[Do|Can] you [eat|drink|like food|get hungry]?
[What|Which] is your [favourite|favorite] [food|meal|dish|drink]?
* What [fills|is on] your plate?
= Can you help me?
[Can|Could|Will|Would] you [please|] [help|assist|support] me[?| please?| with something?| a bit?]
[I|We] [need|want|could use|would like] [help|some help|your help|assistance][.|!|, please.]
[Help|Help me|Please help|Help me please|Please help me][.|!|]
* [I am stuck|I'm in trouble], can you [lend|give me] a hand?
= What is a cactus?
[What is|What's|Whats|Explain|Describe|Tell me what is] a cactus[?|.]
[What|Tell me what] [is|are] [a cactus plant|cacti|a cactus exactly|cactuses]?
* [Which|What] sort of thing is a cactus?
= Nice to meet you.
[Nice|Good|Great|Glad|Pleased|Lovely|Happy|Pleasure] [to meet|meeting|to know] you[.|!|]
It is [nice|good|great|lovely|a pleasure] to meet you[.|!|]
* [Delighted|Honoured] to make your acquaintance[.|!]
= I love you.
I [love|like|adore] [you|u] [so much|a lot|very much|most|][.|!|]
* My heart belongs to you.
= Happy birthday!
[Happy|Have a happy] birthday[!|.|]
[Today is|It is|It's|Tomorrow is] my birthday[!|.|]
I [turned|am turning|turn|became] [six|ten|thirty|forty|20|50] today[!|.|]
* I [was born on this day|get presents today: it is my birthday].
= Merry Christmas!
[Merry Christmas|Happy new year|Happy Easter|Happy holidays|Merry xmas|Season's greetings][!|.|] [to you|]
* I wish you a [merry|lovely] Christmas[!|.]
= Yes
[Yes|Yeah|Yep|Yup|Sure|Ok|Okay|Of course|Certainly|Alright|Fine|Right|Sure thing|Absolutely][!|.|]
* [Yes|Okay], [why not|with pleasure][!|.]
= No
[No|Nope|Nah|No no|Not really|No way|Never mind|Not now|Nothing|Not at all][!|.|]
* [No|Nah], [I don't want|leave it][.|!]
"""

INTRODUCTIONS = """
[My name is|My name's|I am|I'm|Im|Call me|Please call me|You can call me|The name is|They call me] {x}[.|!|]
[Hello|Hi|Hey|Good morning|Good evening][,|!] [my name is|I am|I'm|this is] {x}[.|!|]
[This is|It is me,|It's] {x} [here|speaking|writing|][.|!|]
[You are talking|You speak] [to|with] {x}[.|!]
{x} is my name[.|!|]
[I go by|I am called|I'm called|Everyone calls me] {x}[.|!|]
[Remember|Note] [my name|that my name is|that I am]: {x}[.|]
* My parents named me {x}.
* May I introduce myself? {x}.
"""
WHO_AM_I = """
[What|What's|Tell me what] [is|] my name[?|]
[Who|Tell me who] am I[?|]
[Do|Can|Could|Did] you [remember|know|recall|tell me|say|forget] my name[?|]
[What|How] am I called?
[What|Which] [name|] did I [tell you|say|give you|say my name was]?
[Remember|Do you remember|Do you know|Do you still know] who I am[?|]
[By what|By which|What] name [should you call me|do I have|did I give|is mine]?
Say my name[.|!|, please.]
my name is[...|?| what?| ___]
[So|And|Ok|Quiz|Test|Quick test|Now][,|:] [what's|what is|say] my name[?|.|]
[Can|Could|Would|Do] you [still|] [say|tell me|know|remember] [who I am|what I am called|what my name is|my name][?|, \
please?]
[I forgot|I wonder|Tell me|Remind me|Guess|Let me see if you know] [what my name is|who I am|what I am called|my \
name][.|?|]
[Under|By] [which|what] name do you know me?
[Which|What] [was|is] [the|my] name [I gave you|again|I told you|I said][?|]
[You|You still] [remember|know] my name[?|, right?|, don't you?]
who am i again
my name [pls|please|?|again?]
[Do|Did] you [listen|pay attention]? [What's|What is] my name?
What did I [say I am called|call myself|say my name is|tell you my name was]?
Have you [forgotten|remembered] my name?
* How did I introduce myself[?|]
* [Have you kept|You have not forgotten] my name[?|, have you?]
"""
AGAIN = """
[Say|Repeat|Write|Tell me] [that|it|this] [again|once more|one more time|another time][.|, please.|]
[Can|Could|Would|Will] you [say|repeat|write] [that|it|this] [again|once more|please|one more time|for me][?|]
[What|Sorry, what|Excuse me, what|Hm, what] did you [say|tell me|just say|answer][?|]
[Pardon|Sorry|Excuse me|Come again|What|Huh|I beg your pardon|Say what][?|]
[Again|Once more|One more time|Repeat|Same again][.|, please.|!|]
I [did not|didn't] [hear|get|catch|understand] [that|it|you|your answer][.|. Again?|. Say it again.|, repeat please.]
[Sure|Really|Seriously|Is that so|Is it|Is that right|Is that true|Honestly|You sure|Certain|No kidding][?|??|?!]
[Are|R] you [sure|certain|really sure|100 % sure|serious|quite sure][?| about that?| about this?]
[Is|Was] [that|this|it] [right|correct|true|really so|really the answer|your final answer|your answer][?| really?]
[Really|Sure|Hm|Wait|Ok], [are you sure|is that right|is that true|say it again|one more time][?|.]
I [can't|don't|cannot] believe [that|it|you][.|, really?|. Are you sure?|. Say it again.]
[My|A] friend [says|thinks] [that is wrong|something else|you are wrong|otherwise][.|. Are you sure?|. Say it again.]
[Sorry|Wait|Hang on|Hold on][,|] [what was that|what|I missed that|can you repeat|what did you say|say again][?|]
[Could|Can|Would] you [repeat|say|tell me|write] [the answer|your answer|what you said|that answer|it all] [again|once \
more|one more time|slowly|][?| please?]
[The|Your] [answer|last answer|last line] [again|once more], please[.|]
[What|How] was [that|it|the answer|your answer] [again|][?|]
[I was|We were] [not listening|distracted|asleep|on the phone][.|, say it again.|, what was it?|. Again please.]
[I|My mum|My wife|My son] [missed|didn't hear|did not catch] [that|it|the answer][.|. Again?|, once more please.]
[Repeat|Say] [the answer|your answer|your last answer|what you just said|your last message][.|, please.|]
Double check [that|it][.|, please.|]
* [Let me hear|Give me] [that|your answer] [again|a second time].
* I missed your last answer[.|, sorry.]
"""
IN_UPPERCASE = """
[Now|And|And now|The same|] in [uppercase|upper case|capital letters|capitals|caps|all caps][?|.|, please.|]
[Now|And|] [make|write|put|turn] [it|that|this] [in|into|to] [uppercase|upper case|capital letters|caps][.|, please.|]
[Can|Could] you [write|put|say] [it|that] in [uppercase|capital letters|caps|all caps]?
[Uppercase|Capitalise|Capitalize] [it|that|this][.|, please.|]
[Now|And|Ok|Great|Nice|Good][,|] [the same|that|it|this|all of it] [in|but in|now in] [uppercase|capitals|capital \
letters|caps|big letters][?|.|, please.|]
[Can|Could|Would|Will] you [make|turn|put|change] [it|that|this|the same] [uppercase|into capitals|all caps|into \
capital letters]?
[In|With|Using] [big|capital|upper case] letters[ now| please|, please|][.|?|]
[I|We] [want|need|would like] [it|that|this] in [capitals|uppercase|all caps|capital letters][.|, please.|]
[Shout|Yell] [it|that|this], in [capitals|capital letters|caps][.|!]
[Louder|Bigger]: in [capitals|caps|uppercase][.|!]
* [It|That] should be in [capitals|uppercase].
"""
AND_PLUS = """
[And|And now|Now|Then|] [plus|add] {b}[?|.|]
[Add|Now add|And add|Then add|Please add] {b} [to that|to it|to this|more|on top|to the result][.|?|]
[And|With|What about|Now with] {b} more[?|.|]
[And|What is|How much is] [that|it|this] plus {b}[?|]
+ {b}[?|]
+{b}
[And|What] [if|when] [I|you|we] add [another|] {b}[?| more?| to that?| to it?]
[What|How much] [is it|do I get|is that|do you get] [with|if I add|after adding|when you add] {b}[?| more?]
[Ok|Good|Now|Right|Great][,|] [add|plus|and plus|now add] {b}[.|?|, please.|]
[And|Now|Then] {b} [on top|more|extra|added|to that|on top of that][?|.|]
[I|We] [get|find|buy|want to add] {b} more[.|. How many now?|. How much is it now?]
[Another|A further] {b}[?|.|, please.|]
[That|It|The result] [and|plus|+] {b}[?| is?| is what?|]
* [And|Then] [increase|raise] [it|that] by {b}.
* Put {b} on top[.|!]
"""
AND_OF = """
[And|What about|How about|And what about|And how about|And for|And of] {x}[?|]
[And|What about|How about|Now] {x}[, please|, then|, too|][?|.]
{x}[?|]
[Now|Next|Then] {x}[.|?|]
[The same|Same|Same question|The same question] [for|about|with] {x}[.|?|, please.|]
[And|Now] [what is|how is|what about] it [for|with|in the case of] {x}[?|]
[I also want|Also|And also|I also need] {x}[.|, please.|]
[And|Ok and|Ok, and|Great, and|Thanks, and|Nice, and|Good, and|Right, and] [of|for|with|what about|] {x}[?|]
[And|Now|Then] [the one|that|the answer] [of|for] {x}[?|, please.|]
[And|What|So what] [is|would be] [it|that|the answer] for {x}[?|]
[Thanks|Great|Good|Cool|Nice|Got it|Perfect][!|.|,] [And|Now|What about|How about|Next|And for] {x}[?|.]
[Do|Answer|Tell me|Say] the same for {x}[.|, please.|]
[Can|Could|Would] you [do|tell me|say|answer] [the same for|that for|this for|it for] {x}[?| too?| as well?]
[No|Oh|Oops|Sorry|Wait|Hm][,|] [I meant|I mean|not that, I meant|I wanted|make that|I was asking about] {x}[.|!|, \
sorry.|]
[I|We] [meant|mean|wanted] {x}[.|!|, not that.|, sorry.|]
[And|Then|Now|Also] [another|one more]: {x}[?|.|]
[And|Next|Then] [comes|there is|we have] {x}[?|.]
[My|A] [friend|sister|son] [asks|wants to know it|wants it] for {x}[.|?|, please.]
[Also|And also|Plus|As well as|Along with] {x}[?|.|, please.|]
[If|And if|What if] [I ask|it is|it were|it was|I say|you take] {x}[?|]
[Change|Switch] [it|that] to {x}[.|, please.|]
[I'd|I would] also like [to know it for|] {x}[.|, please.|]
n {x}[?|]
[wat|what|how] [abt|about|bout] {x}[?|]
[same|same 4|same for|and 4|now 4] {x}[?| pls|]
* [Do|Try] {x} [now|as well][.|, please.]
* [Next|My next] one [is|would be] {x}[.|]
"""
AND_MINUS = """
[And|And now|Now|Then|] [minus|subtract|take away|less] {b}[?|.|]
[Subtract|Take|Now subtract|And take|Then take away|Please subtract] {b} [from that|from it|from this|from the \
result][.|?|]
[And|What is|How much is] [that|it|this|the result] minus {b}[?|]
[And|What] [if|when] I [take away|subtract|lose|give away|spend] {b}[?| of them?| of that?]
[Ok|Good|Now|Right|Great][,|] [subtract|minus|take away|now minus] {b}[.|?|, please.|]
[And|Now|With] {b} [less|fewer|taken away|off][?|.|]
I [lose|eat|give away|spend] {b}[.|. How many are left?|. What is left?]
[That|It|The result] [minus|-|less|without] {b}[?| is?| is what?|]
- {b}[?|]
-{b}
* [And|Then] [lower|reduce] [it|that] by {b}.
"""
AND_DOUBLE = """
[And|And what is|What is|What's|What about|How about|How much is|] [twice|double|two times|2 times] [that|it|this|the \
result|the number][?|.|]
[Double|Now double|And double|Then double|Please double] [it|that|this|the result][.|?|, please.|]
[And|Now|Then|] [twice that|doubled|times two|times 2|the double|x 2|two times that][?|.|, please.|]
[And|What] if I [double|take twice] [it|that][?|]
[That|It|The result] [doubled|times two|twice|and the same again][?| is what?|]
[Ok|Good|Right|Great][,|] [twice that|now double it|and doubled|and twice as much][?|.|]
* [And|Then] [the same again|once more] on top.
"""
WHY = """
[Why|Why|But why|And why|How come|How so|Why so|Why though|y|For what reason|What for][?|??|]
[Why|How come] [is that|is it|is this|is it so|is that so|that|this][?|]
[Why|How] [do|did|can] you [know|say|think|know that|think so|find that out][?|]
[Can|Could|Would] you [explain|explain why|tell me why|say why|explain that|explain it][?| to me?| please?]
[Explain|Explain it|Explain that|Explain why|Tell me why|Tell me more|Say why|Prove it][.|, please.|!|]
[What|Which] is the reason[?| for that?| for it?]
[And|But] [why|how come|what is the reason|since when|who says so|who decided that][?|]
[Since when|Who says so|Who says that|Says who|Who decided that|Who told you that|Where did you read that][?|]
[I|We] [don't|do not] [understand|get it|get that|see] why[.|?|]
[I|We] [wonder|want to know|would like to know|need to know] why[.|?|]
[Interesting|Ok|Hm|Oh|Really|Great|Nice|Thanks][,|.|!] [Why|But why|And why|How come|Why is that|Tell me more][?|.]
* [On what grounds|By what logic][?|]
* [The reason|Your reason], please.
"""
