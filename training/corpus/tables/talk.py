"""Small talk in more wordings: each block begins with the first wording of an intent of smalltalk.py."""

from __future__ import annotations

TALK = """
= Hello
[Hello|Hi|Hey|Hiya|Howdy|Greetings|Hallo|Yo|Heya|Hi hi|Hello hello] [there|again|you|everyone|friend|assistant|cactus|]
[Hello|Hi|Hey|Greetings], [friend|assistant|computer|little cactus|dear assistant|Cactus Sprout][!|.|]
[What's up|Whats up|Sup|Wassup|What is up][?|]
[Anybody|Anyone|Is anybody|Is someone|Are you] [there|here]?
[Hello|Hi|Hey] [bot|buddy|mate|pal|stranger|my friend|world|computer|little one|sprout][!|.|, nice day.|]
[Good day|G'day|Hey hey|Aloha|Salut|Hola|Ello|Helloo|Hiii|Heyy][!|.| to you!|]
[I'm|I am] [back|here|here again|online][!|.|, hello.|, hi.]
[Just|I just] [wanted|came|thought I'd come] to say [hi|hello][.|!|]
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
[How|And how] [have you been|has your day been|was your night|was your weekend|is your mood][?| so far?| lately?]
[Hope|I hope] you [are|feel] [well|fine|okay|good][.|!|, do you?]
[How|And how] [are you|do you feel] [this morning|tonight|this evening|right now|on this fine day][?|]
[You|U] [okay|ok|alright|good|well][?| there?| today?| mate?]
[What's|How's|How is] [new|your mood|your day going|life treating you][?| with you?]
how r u
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
[I|We] [forgot|don't know|would like to know|wonder about] your name[.|, sorry.|. What is it?]
[And|So|Ok|Hey], [who are you|what's your name|what is your name|what do I call you][?|]
How [should|may|can] I [address|greet] you?
[Before we start|First of all], [who are you|what is your name|what are you called]?
[Your|Ur] name[?|, please.| please| is?]
[Who|What] [exactly|really] are you?
* [Which|What] name [goes with|belongs to] you?
= Thank you
[Thanks|Thank you|Thx|Ty|Many thanks|Thanks a bunch|Cheers][!|.|,] [friend|for that|for your help|so much|]
[Great|Perfect|Super|Nice|Wonderful|Ok], [thanks|thank you|thank you so much][!|.]
[That|This] [was|is] [helpful|very helpful|a great help][!|.|, thanks.|, thank you!]
I [appreciate it|am grateful|appreciate your help|thank you very much][!|.]
[That|This] [helped|helped a lot|was what I needed|was kind of you|was quick][!|.|, thanks.|, thank you.]
[I'm|I am] [so|very|really] [grateful|thankful][!|.| to you.]
[Thanks|Thank you|Cheers|Ta|Thx] [mate|buddy|a lot mate|a million|again|ever so much|for everything|for the \
answer|for answering][!|.|]
[You|You really] [helped me|saved me|saved my day][!|.|, thanks.|, thank you.]
[Oh|Ah|Right|Ok|Super|Lovely|Brilliant][,|] [thanks|thank you][!|.| so much.]
* [You have|You've] been a great help[!|, thank you.]
= Bye
[Bye|Goodbye|Bye bye|See you|See ya|Cya|Farewell|So long|Take care|Later|Ciao][!|.|] [friend|for now|then|soon|later|]
I [have to|must|need to|should|will] [go|leave|run|be going|log off] [now|][.|!|]
[Have|I wish you] a [nice|good|great|lovely] [day|evening|weekend|time][!|.]
[That's|That is|That was] all [for today|for now|][.|, bye.|, goodbye!|]
I [have to go|must leave|am off] now[.|!|, bye.|, see you.]
[Until|See you|Talk to you|Catch you|Speak to you] [next week|later|soon|on Monday|another time][!|.|, bye.]
[I'm|I am] [off|leaving|going home|done for today|out][.|!|, bye.|, goodbye.]
[Ok|Okay|Well|Right|Alright][,|] [bye|goodbye|bye then|see you|take care][!|.| then.]
[Cheerio|Toodle-oo|Ta-ta|Bye for now|Over and out|Gotta go|Gtg|Adios|So long then][!|.|]
* [It is time|Time] to [say goodbye|part][.|!]
= What can you do?
What [can|could] [you|u] [do|do for me|help me with|help with|answer|tell me|offer]?
[What|Which] [things|tasks|questions|kinds of things] can you [do|help with|answer|handle]?
How [can|could|do] you help [me|us]?
[What|Tell me what] [is|are] your [skills|abilities|talents|features|capabilities]?
[What|Which] [are you|is your model] [able to do|capable of|useful for|made for|trained for]?
[Tell|Show] me what you [can do|know|are able to do][.|]
* [Give me|I want] an idea of your [abilities|talents].
What [sort|kind] of [questions|things|tasks] [can I ask you|do you answer|are you good at|can you do][?|]
[How|In what way] [could|can] you [be useful|be of use|be of help] to me?
[Are you|Can you be] [useful|of any use] [for|to] [anything|me]?
[I'm new here|First time here][.|,|:] [what can you do|how can you help|what can I ask][?|]
[Give|Show] me [a list of|some of] your [skills|abilities][.|]
what can u do
* For [what|which things] [can|do] people use you?
= Are you a robot?
Are you [a|an] [robot|bot|human|person|machine|AI|real person|computer|program|man or a machine|chatbot]?
Are you [human|real|alive|artificial|an artificial intelligence|a living being|conscious]?
Am I [talking|speaking|chatting] [to|with] a [robot|human|person|machine|computer|real person]?
[You are|You're] [a robot|a machine|not human|not real|a bot], [right|aren't you|are you|no]?
Do you have [a body|a brain|a heart|feelings|legs and arms][?|]
[Is this|Am I chatting with|Am I talking to] [a human|a real person|a robot|a machine|a bot|someone real][?| here?]
[Be honest|Tell me honestly|Just tell me][:|,] are you [a robot|human|real|a machine|a computer]?
[You|U] [human|a robot|real|a bot|a machine][?|]
* [Is there|Is it] a [human|person] [behind this|on the other side]?
= How old are you?
[How old|What age] [are|r] [you|u][?| now?| exactly?|, if I may ask?]
[What|Tell me] [is|] your [age|birthday|date of birth]?
When [is your birthday|were you made|were you created|did you come into being|were you trained]?
[How|Exactly how] [old|young] are you [in years|by now|today|really|]?
[Which|What] year [were you born|are you from|did you begin]?
[Are you|You are] [old|young|older than me|a baby][?|, or what?]
[Can|May] I ask [your age|how old you are]?
* Since when do you exist?
= Where do you live?
Where [do you|are you|is it that you] [live|come from|at|right now|located|based|living]?
[In|From] [which|what] [country|city|place|town] [do you live|are you|do you come]?
[What|Where] is your [home|house|address|location]?
[Where|Whereabouts] [do you live|are you|are you living|is home][?| exactly?| these days?]
Do you [live|stay|sit] [near me|in a house|in a city|in a box|somewhere nice]?
[Which|What] [city|country|town|planet] are you [in|from|living in]?
* [Which|What] place is home to you?
= Who made you?
Who [made|built|created|trained|wrote|invented|programmed|developed|designed|owns] [you|u]?
[Who|Tell me who] [is|are] your [maker|creator|developer|author|inventor|boss|developers|makers]?
[By whom|From whom|From which company] [were you made|are you|were you built|do you come]?
[Which|What] [company|people|team|project] [made|built|created|trained] you?
[Tell|Can you tell] me who [made|built|created|trained|programmed] you[.|?|]
[Do|Can] you [know|say|remember|tell me] who [made|built|created|trained] you?
Who [is|are] [behind you|responsible for you|your parents|your makers]?
who made u
* [Whose|Who did the] work are you?
= Tell me a joke.
[Tell|Give] me [a|another|a good|your best|one more|a short|a funny] joke[.|!|, please.|]
[Do|Don't] you [know|have] [a joke|any jokes|some jokes|something funny]?
[Can|Could|Would] you [tell me a joke|make me laugh|say something funny|joke|make a joke][?| please?]
[I want|I need|I'd like] [a joke|to laugh|to hear a joke|some humour][.|!|]
[Joke|A joke|Joke please|One joke][.|!|, please.|]
[I'm|I am] in the mood for a [joke|laugh|good joke][.|!|]
[Got|Have you got|You know|Know] [any jokes|a joke|a good joke|something funny][?| for me?]
Make me [laugh|smile|giggle][.|!|, please.|]
[Another|One more|The next] joke[!|.|, please.|]
[My|The] [kids|friends|colleagues] want [a joke|to laugh][.|, tell us one.|, do you know one?]
* [Cheer me up|Entertain me] with a joke[.|!]
= I am sad.
I [am|feel|am feeling] [so|very|really|a bit|quite|] [sad|unhappy|depressed|lonely|down|terrible] [today|now|][.|!|]
[I'm|Im] [so|very|really|] [sad|unhappy|down|lonely][.|!| today.|]
[My|This] [day|life|week] is [awful|terrible|bad|sad|horrible][.|!|]
[I|Today I] [feel like crying|am not happy|lost my friend|could cry|am heartbroken|had an awful day][.|!|]
[I'm|I am] [not okay|feeling low|feeling blue|miserable|in a bad mood][.|!| today.|]
[Nobody|No one] [likes me|loves me|talks to me][.|!|]
* [Everything|All] is [so sad|going wrong] today.
= I am happy.
I [am|feel|am feeling] [so|very|really|quite|] [happy|great|wonderful|glad|good|fantastic|cheerful] [today|now|][.|!|]
[I'm|Im] [so|very|really|] [happy|glad|in a good mood][.|!| today.|]
[My|This] [day|life|week] is [great|wonderful|fantastic|lovely][.|!|]
[I|Today I] [passed my exam|won a prize|got good news|had a great day|feel like dancing][.|!|]
[I'm|I am] [so pleased|in a great mood|over the moon|full of joy|delighted][.|!| today.|]
[What a|It's a|It is a] [lovely|great|beautiful|wonderful] day[.|!| for me!|]
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
[Wow|Oh|Hey|Nice][,|!] [you are|you're] [good|clever|quick|amazing|smart][!|.|]
[I'm|I am] [impressed|amazed][!|.|, well done.|, good job.]
[You|You really] [know a lot|did well|are the best|are good at this|rock][!|.|]
[Correct|Perfect answer|That's right|Spot on], [well done|good job|clever you][!|.]
[Clever|Smart|Good] [bot|boy|little thing|computer|machine|you][!|.|]
* [What a|You are a] [clever|smart] [little|] [program|helper|plant]!
= You are stupid.
[You are|You're|Youre|U r] [so|very|really|] [stupid|bad|dumb|wrong|useless|silly|slow|annoying|terrible][!|.|]
[That|This|Your answer] [is|was] [wrong|false|incorrect|not right|a mistake|not true|nonsense|bad|rubbish][!|.|]
[No|Nope], [that|this] [is|was] [wrong|false|incorrect|not right|not true][!|.|]
[That's|That is|This is] [so|quite|totally|completely] [wrong|false|incorrect|not what I asked][!|.|]
[You|You always|You just] [got it wrong|make mistakes|are mistaken|know nothing|don't understand me][!|.|]
[I|We] [don't|do not] like [you|your answers|your answer|that answer][.|!|]
What [nonsense|rubbish|a bad answer|a stupid answer][!|.|]
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
