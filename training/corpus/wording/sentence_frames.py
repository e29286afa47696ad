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
    * [Any chance you know|Is there a chance you know|Somebody must know] {i}?
    * [Everyone here|Nobody here|My whole class] [forgot|wonders] {i}.
    * [It would help|It is important] to [know|learn] {i}.
    """,
    MACROS,
    RESERVED,
)
