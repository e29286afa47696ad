"""Frames of sentences that all kinds share: around a noun phrase, and around an indirect question.

{np} is a noun phrase whose value is asked for, {i} an indirect question ("what sound a cow makes").
"""

from __future__ import annotations

from training.corpus.wording.grammar import Grammar
from training.corpus.wording.reserved import RESERVED

MACROS = {
    "tellme": "tell me|give me|name|say|state|show me|write down|write|find|provide|let me have|type|list|remind me of",
    "know": "Do you know|Do you happen to know|Would you know|Might you know|Does anyone know|Does anybody here know"
    "|Who knows|Can anyone say|Do you remember|Have you an idea|Do u know|You know|Are you able to say",
    "ask": "Tell me|Please tell me|Can you tell me|Could you tell me|Could you please tell me|Can you please say"
    "|Will you tell me|Would you tell me|Would you mind telling me|Would you be so kind as to tell me|I want to know"
    "|I'd like to know|I would like to know|I would love to know|I need to know|I have to know|I wonder|I am wondering"
    "|I was wondering|I'm curious|I am curious to know|Let me know|Any idea|Any clue|Do you know|Do you happen to know"
    "|Would you know|Does anyone know|I forgot|I forget|I can't remember|I cannot recall|I do not remember"
    "|I am not sure|I'm not sure|I don't know|I have no idea|Remind me|Explain to me|Say|Say to me|Teach me"
    "|Help me remember|Please explain|Inform me|I was asked|They asked me|My question is|The question is"
    "|I am trying to remember|I'd be glad to know|I must find out|Can you find out|Can you remember|Guess|Show me"
    "|Can you help me find out|May I ask|May I ask you|Might I ask|I wish to ask|We want to know|We need to know"
    "|Could you say|Can u tell me|Pls tell me|Do me a favour and say|Is it possible to tell me|It is time to know",
    "please": "|||, please|, pls|, thanks|, thank you|, if you can|, if you know it|, would you|, quickly",
}
PHRASES = Grammar.read(
    """
    What is {np}?
    What is {np}?
    What is {np}?
    What's {np}?
    What's {np}?
    {np}?
    {np}?
    {np}
    {np}<please>
    <tellme> {np}<please>.
    Please <tellme> {np}.
    <know> {np}?
    <know> what {np} is?
    [Can|Could|Would|Will] you [please|kindly|quickly|] <tellme> {np}<please>?
    I [need|want|require|want to know|would like|would like to know|have to find|am after|am asking for] {np}<please>.
    [I'm|I am|We are] [looking for|searching for|trying to find|trying to remember|asking about|after] {np}<please>.
    Looking for {np}<please>
    <ask> what {np} is[.|?|]
    <ask> what {np} is[.|?|]
    <ask> {np}[.|?|]
    {np} is[...|?| what?| ...?| ____|:| which one?|?| which?| called what?]
    {np}, [what is it|what is that|which one is it|what's that|do you know it|you know it|can you say it|any idea]?
    {np}: [?|what is it?|do you know?|your answer?|please answer.|tell me.]
    {np} =[| ?| what?]
    What [would|could|might|should] {np} be?
    What [do you think|would you say|do you say|do they say] {np} is?
    [And|So|Now|Okay, and|Right, so|Then] what is {np}?
    What was {np} again?
    What exactly is {np}?
    [Complete|Finish|Fill in|Continue|Complete this|Finish the sentence|Fill the gap]: {np} is[ ___| ...| _____|...|]
    [I forgot|I forget|I can't remember|I cannot recall|I always forget|I don't remember] {np}[.| again.|, help me.]
    I [forgot|can't remember|don't know|have no idea of|am not sure about] {np}. [What is it?|Which is it?|Do you know?]
    I have [no idea|no clue|forgotten] what {np} is. [You?|Do you know?|Tell me.|Help!|Can you help?|]
    You [know|surely know|must know|probably know] {np}[?|, right?|, don't you?|. What is it?|. Tell me.]
    [Got|Have you got|You have] any idea what {np} [is|might be|could be]?
    [My teacher|My son|My daughter|A friend|My boss|The quiz|The book|Somebody] [asks|asked|wants to know] what {np} is.
    [Just|Only] <tellme> {np}<please>.
    [In a word|Briefly|In short|Short answer|One word|Quickly|Quick]: [what is|what's|] {np}?
    [The|My] [question|task|next question|first question|riddle] is: what is {np}?
    About {np}: [what is it?|can you tell me?|I need it.|help.]
    Let's [see|talk about] {np}. What is it?
    what {np}
    what is {np} [called|then|really|please|pls]
    [How about|What about] {np}?
    For [ten|a hundred|a thousand|five|bonus] points: [what is|] {np}[?|]
    [Your|The] [next|last|bonus|first|final] question[:| is:| tonight:] {np}[?|.]
    [I'll take|Let me try|I choose] {np} for [two hundred|100|500][.|, please.]
    [Google|Search|Look up|Check|Lookup|Search for|Find out] {np}[.|, please.|]
    [answer|info|fact] [on|about|for]: {np}
    {np} [answer|quiz|pls help|help pls|quick|homework help]
    [Which|What] [answer|word|name|thing] [do I|should I|must I|can I] [give|write|put|say] for {np}?
    [How|What] would you [answer|say|reply] [if|when] [someone|a child|a teacher] [asks|asked] [you|] for {np}?
    [I'd|We'd|I would|We would] [love|like|be glad] to [know|learn|hear|find out] {np}[.| please.|, if you can.|]
    [It|This] [asks|is asking|wants|says to give] {np}[.|, and I don't know it.|. What do I write?]
    [Settle|Help us settle] [a bet|an argument|this]: [what is|what's|] {np}?
    [I|We] [bet|think] you [don't|do not] know {np}[.|!|, do you?|. Do you?]
    [Bet you|I bet you|Surely you] [can|know how to] [tell me|name|say] {np}[.|!|, right?]
    [Enlighten|Remind|Tell|Teach] [me|us]: [what is|what's] {np}?
    [Somebody|Someone|Anybody|Anyone] [knows|know] {np}?
    [There is|There's] [one thing|something] I [need|forgot|don't know|want to know]: {np}.
    {np} - [that is what I need|that's my question|that's all I want to know|this is what I'm after|can you help][.|?]
    {np}, [that is|that's] [what|all] [I need|I want to know|I'm asking|they asked][.|, nothing else.]
    {np} [is|was] [what|which] [again|now|though|exactly|then]?
    {np} [slipped my mind|escapes me|won't come to me|is what I forgot][.|. Help.|, what is it?]
    What [again|exactly|on earth|in the world] is {np}?
    What, [please|then|now|again], is {np}?
    What [was|is] it again, {np}?
    Is there [anyone|someone|a way] [who can tell me|to find out|who knows] {np}?
    [Could|Can|Would] [someone|you|anybody|u] [fill me in on|enlighten me about|help me out with|help with] {np}?
    [May|Can|Could] [I|we] [have|get|know|hear] {np}[, please|]?
    [Whats|Wats|What is|Tell me] {np} [again|called|in short|in one word|mate|dear|my friend|love][?|]
    I [wasn't|was not] [listening|at school] when [we learned|they taught us] {np}[.|. What is it?|. Please tell me.]
    [Write|Put|Type] {np} [here|below|for me|in one sentence][.|, please.]
    [A friend|My wife|My husband|Grandpa|My niece|A colleague|Our guide] [would like|needs|is looking for|can't \
    remember] \
    {np}[.|, can you help?|. What is it?]
    My [son|daughter|teacher|wife|friend] [needs|must learn|has to name|should know] {np}[.|. What is it?|, so?]
    [Not|I am not] [sure|certain] what {np} [is|could be][.|. You?|, are you?]
    [Suppose|Imagine|Say] someone asks [you|me] [for|about] {np}[.|:|,] [what is it?|what do you say?|what would you \
    say?]
    [We|I] [need|have] to [fill in|write down|learn|name] {np} [for school|in the form|tomorrow|in the quiz][.|: what \
    is it?]
    [Quiz|Trivia|Test|Exam] [time|question]: [what is|what's|] {np}?
    [One|A] [word|sentence] [will do|is enough]: {np}[?|.|, please.]
    [Hey|Hi|Yo|Hello|Hiya] [there|mate|bot|you|], [what's|what is|whats|tell me] {np}[?|]
    {np}, [go|please answer|over to you|your turn|if you please|would you][!|?|.]
    [Be a dear|Be so kind|Do me a favour|Be a star] and tell me {np}[.|, please.|]
    [Is it|It's] [hard|easy] to say what {np} is[?|. Can you?|. So tell me.|, or not?]
    * What, [if I may ask|by the way|in fact|if you please], is {np}?
    * [Kindly|Be so good and|Go ahead and] <tellme> {np} [to me|for me|now].
    * It [would help|is important] to [know|learn|hear] {np}.
    * [It's|The thing is,] {np} [that I want|I am missing|that I don't know|is what I look for].
    * {np} [would be|will be|must be] [what?|...|which one?]
    * [Any chance you know|Is there a chance you know|Somebody must know] [what {np} is|{np}]?
    * [Everyone here|Nobody here|My whole class] [forgot|wonders about] {np}. [What is it?|You know it?]
    * [Spit out|Hit me with|Out with] {np}[!|, please.]
    """,
    MACROS,
    RESERVED,
)
INDIRECT = Grammar.read(
    """
    <ask> {i}[.|?||]
    <ask> {i}[.|?||]
    <know> {i}?
    <ask>: {i}?
    [I have no idea|No idea|I don't know|I forgot|I'm not sure] {i}. [Do you know?|You?|Can you help?|Help me.|Tell me.]
    [My teacher|My son|My daughter|A friend|My boss|The quiz|Somebody|My sister] [asks|asked me|wants to know] {i}.
    [We were|I was|My kids were] [wondering|arguing about|discussing] {i}[.|. Do you know?|. Can you tell us?]
    You [know|surely know|must know] {i}[?|, right?|, don't you?|. Tell me.]
    [The|My] [question|task|next question|riddle] is {i}.
    It is [about|a question about] {i}.
    For [ten|a hundred|a thousand|bonus] points: {i}?
    [I'd|We'd|I would|We would] [love|like|be glad] to [know|learn|hear|find out] {i}[.| please.|]
    [Settle|Help us settle] [a bet|an argument|this]: {i}?
    [I|We] [bet|think] you [don't|do not|can't] [know|tell me|say] {i}[.|!|, or can you?]
    [Google|Search|Look up|Check|Find out|See if you can find out] {i}[.|, please.|]
    [It|My book|The sheet|Question three|This card] [asks|is asking|wants to know] {i}[.|, and I don't know it.|. Help.]
    [The kids|My pupils|My nephew|Grandpa|My niece|A colleague|Our guide|Mum] wondered {i}[.|, can you help?]
    [It|This] [slipped my mind|escapes me|is on the tip of my tongue]: {i}?
    [How|What] would you answer [if|when] [someone|a child] [asks|asked] {i}?
    [Could|Can|Would] [someone|you|anybody|u] [fill me in on|enlighten me|help me out with|explain to me] {i}?
    [I|We] [can't|cannot|could not] [figure out|find out|work out|agree on|remember] {i}[.|. Can you?|, sorry.]
    I [keep|am always] [forgetting|asking myself|wondering] {i}[.|. You know it?]
    [My|Our] [son|daughter|teacher|friend] [doesn't|does not] know {i}[.|. Do you?|, and neither do I.]
    [Not|I am not] [sure|certain|clear] {i}[.|. You?|, are you?]
    [Please|Kindly|Do] [tell|remind|inform|teach] [me|us] {i}[.|, would you?|, thanks.|]
    [It is|It's] [for a quiz|for school|my homework]: {i}?
    [Does|Would] anyone know {i}[?|, please?]
    * [Any chance you know|Is there a chance you know|Somebody must know] {i}?
    * [Everyone here|Nobody here|My whole class] [forgot|wonders] {i}.
    * [It would help|It is important] to [know|learn] {i}.
    """,
    MACROS,
    RESERVED,
)
