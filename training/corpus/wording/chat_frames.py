"""Texts that people write around a question: greetings, reasons, thanks."""

from __future__ import annotations

from random import Random

from training.corpus.wording.grammar import Grammar
from training.corpus.wording.reserved import RESERVED
from training.corpus.words import CITIES, NAMES, word_list

OPENERS = Grammar.read(
    """
    [Hi|Hello|Hey|Hi hi|Hello hello|Greetings|Hallo|Hiya|Howdy][!|.|,| -| again,| again!]
    [Hey|Hi|Hello|Dear] [assistant|cactus|Cactus Sprout|friend|buddy|computer|bot|you|everybody|little model|AI][,|!|.]
    Good [morning|evening|day|afternoon][,|!|.]
    [Please|Pls|Kindly][,|:|]
    [Please tell me|Tell me|Tell me please|Answer me please|Say][:|,]
    [Ok|Okay|Alright|Right|So|Well then|Now|Um|Hmm|Uh|Er|Ah|Oh|And|Next|Then|Listen|Look|Say|Wait|Great|Yes][,|...|:]
    [Question|A question|Quick question|Simple question|Easy one|Another one|One question|Next one][:|,|.]
    [Question|A question|Quick question|Dumb question|My question|Just a question|Small question] [for you|][:|.|...]
    [Excuse me|Pardon me|Sorry|Sorry to bother you|Sorry to ask|Sorry to disturb][,|!|.|, but]
    I [have|got|'ve got] [a|one|another|a quick|a small|one more] [question|thing to ask][:|.|!]
    I [need|want|would like] to [ask|know] [you|] [something|one thing|this][:|.|,]
    [Can|Could] you [help|help me|help me out|answer me|answer this|do this][?|, please?|:]
    [Help|Help me|Help please|Please help][!|.|,|:]
    [Let me ask|I ask you|May I ask|Can I ask][:|, ]
    [Thanks for the help so far|That was good|Nice|Very good|Interesting|Got it|Okay thanks][.|!] [Now|Next|And now]:
    [Do you know this|You know this|Guess what|Tell me this|Riddle me this|Try this|Here goes|Listen to this][:|?|...]
    [Let us|Let's] [play|do|have] a [quiz|game|test][.|!|:]
    [First|Second|Last|Final|Next] [question|one|thing][:|.|,]
    [I wonder|I was thinking|I am thinking|I am curious][:|...|,]
    [In case you know|If you know|If you can|If possible|If you don't mind|When you have time][,|:]
    [Be honest|Be quick|Think well|Concentrate|Attention|Ready][:|?|!|.]
    * [Ahoy|Top of the morning|Salutations|Good to see you][!|,]
    * [Riddle|Puzzle|Challenge] [for today|of the day][:|.]
    * [With your permission|Before I forget|While we are at it][,|:]
    * [I hope you are awake|I hope you can hear me][.|!|:]
    """,
    reserved=RESERVED,
)
# Sentences before or after the question. They name things that questions are about, but ask nothing.
REASONS = Grammar.read(
    """
    I [am doing|do|am busy with|am working on|have to finish] [my|some|the] [homework|school work|crossword|quiz].
    [It is|It's|This is] [for|from] [school|a quiz|my homework|a crossword|a test|my class|a game|work|my son].
    My [son|daughter|little brother|sister|class|friend|mother|grandfather|teacher] [asked me this|wants to know|asks].
    I [have|am having|will have] a [test|quiz|exam|lesson] [tomorrow|today|next week|soon].
    I [forgot|keep forgetting|can't remember|always forget|should know this|don't know this|knew it once].
    We [are|were] [playing|having|doing] a [quiz|game|pub quiz|guessing game].
    We [talked|were talking|argued] about [it|this] [at dinner|yesterday|in class|at work|on the train].
    I [was|am] [reading|watching|looking at] [a book|a film|a map|the news|an old atlas|a quiz show].
    [I am|I'm] [learning English|from {city}|{name}|a teacher|ten years old|new here|in a hurry|studying|at school].
    I [live|was born|am sitting|work] in {city}.
    I [was|have been] in {city} [last year|yesterday|last summer|once].
    [My friend|My sister|{name}|My neighbour] [has|had|likes|bought] [a dog|two cats|a horse|three birds|a new car].
    {name} [says|thinks] [it is easy|I should know|you can help me|I should ask you|nobody knows].
    [It is|It's] [raining|cold|late|sunny|hot] [here|today|outside].
    The [answer|solution] is [easy|short|one word|somewhere in my book], [I think|I guess|they say].
    I [hope|think|am sure|guess] you [know|can help|know it|can answer|know this].
    [You know|You are good at] [such things|these things|this|everything].
    [I am|I'm] not [sure|good at this|very clever|good at school].
    [Somebody|Someone|They] [told|asked] me [to ask you|this|and I had no idea].
    I [tried|thought about it|looked it up] [for hours|in a book|all day] [but|and] [failed|found nothing|gave up].
    Yesterday I [knew it|asked somebody else|saw a quiz about it|read about it].
    I [like|love] [animals|words|numbers|maps|school|quizzes].
    [This|It] [is|will be] [my last question|important|easy for you|a hard one|not a trick].
    [No need to|Don't] [hurry|explain|worry].
    * The [neighbours|kids] are [waiting|shouting] for [an answer|it].
    * I [bet|promised] [that you know|to find out].
    * Last week in {city} nobody [knew|could say].
    * My notes [got lost|are at home].
    """,
    reserved=RESERVED,
)
CLOSERS = Grammar.read(
    """
    [Thanks|Thank you|Thx|Many thanks|Ty|Cheers|Thanks in advance|Thank you so much|Much obliged][!|.|]
    [Please|Pls|Plz|Please and thank you|Please help|Please answer][!|.|]
    [I'd like|I would like|I want|I need] to know[.|!| it.| now.]
    [Can|Could] you [tell me|help me|help|say|answer][?|, please?]
    [Do you know|Do you know it|You know|Any idea|Any ideas|Do you|Who knows|Anyone]?
    [Be|Please be|Keep it] [quick|short|brief|nice][.|!|]
    [Answer|Reply|Respond] [in one sentence|quickly|now|shortly|please|me][.|!|]
    [Just|Only] [the answer|one word|one sentence|tell me][, please|][.|]
    [I am|I'm] [waiting|curious|listening][.|!|...]
    [Tell me|Tell me please|Say it|Go|Go on|Your turn|Quick|Hurry|Now][!|.]
    [Hope|I hope] you [know|can help|know it][.|!]
    [Right|Ok|Okay|Yes|Hm|Well]?
    [:)|:-)|;)|<3|:D|!!|??|...]
    * [Bless you|Be a dear|Much love][.|!]
    * [Over to you|The floor is yours][.|!]
    * [Merci|Danke|Gracias][.|!]
    """,
    reserved=RESERVED,
)
# First words whose capital letter goes when something stands before them.
_SMALL = frozenset(
    word_list(
        """
        what which who how where when why whose the a an tell give name say do does did is are can could will would
        please if in on at of from to with my add take subtract multiply calculate compute find list write count
        repeat put make turn change double after before how's what's whats is's any one two for it you let number
        symbol capital opposite antonym plural colour color days legs sound baby next first second third by up
        between there show type spell convert work figure solve remind plus twice
        """
    )
)


def uncapitalised(text: str) -> str:
    first = text.split(" ", 1)[0].rstrip(",:?.!")
    return text[:1].lower() + text[1:] if first.lower() in _SMALL else text


def _said(grammar: Grammar, rng: Random, held_out: bool) -> str:
    text = grammar.say(rng, held_out)
    return text.replace("{city}", rng.choice(CITIES)).replace("{name}", rng.choice(NAMES))


def framed(question: str, rng: Random, held_out: bool = False, only_before: bool = False) -> str:
    """The question with such texts around it.

    held_out draws one part that is never trained on. only_before adds nothing after the question.
    """
    parts = ["opener"] if rng.random() < 0.6 else []
    if rng.random() < 0.3:
        parts.append("reason before")
    if not only_before and rng.random() < 0.35:
        parts.append("closer" if rng.random() < 0.75 else "reason after")
    if not parts:
        parts.append("opener")
    new = rng.choice(parts) if held_out else ""
    text = question
    if "reason before" in parts:
        text = f"{_said(REASONS, rng, new == 'reason before')} {text}"
    if "opener" in parts:
        opener = _said(OPENERS, rng, new == "opener")
        text = f"{opener} {uncapitalised(text) if opener[-1] not in '.!?' else text}"
    if "closer" in parts:
        closer = _said(CLOSERS, rng, new == "closer")
        if text[-1].isalnum() and rng.random() < 0.7:
            text += rng.choice(("?", ".", ","))
        text = f"{text} {closer if not text.endswith(',') else closer[:1].lower() + closer[1:]}"
    if "reason after" in parts:
        text = f"{text + '.' if text[-1].isalnum() else text} {_said(REASONS, rng, new == 'reason after')}"
    return text
