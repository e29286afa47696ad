"""Several questions in one message, and questions among statements about something else."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from training.corpus.wording.chat_frames import uncapitalised
from training.corpus.wording.grammar import Grammar
from training.corpus.words import NAMES

# {1} and {2} are questions as they stand, {u1} and {u2} the same after other words of a sentence; {b1} and {ub2} lack
# the mark at their end.
PAIRS = Grammar.read(
    """
    {1} {2}
    {1} {2}
    {1} {2}
    {b1} and {u2}
    {b1} and {u2}
    {b1}, and {u2}
    {b1} [and also|and then|and next|plus|and second|and besides|as well as|but also|and after that] {u2}
    {b1}, [also|then|and also|plus|and then|next|second|and second|so too|and by the way,] {u2}
    {b1}, {u2}
    {b1}; {u2}
    {b1} [-|/|&|+|//] {u2}
    {1} And {u2}
    {1} And {u2}
    {1} And [also|then|next|second|secondly|tell me|please|now|what I also need][,|:|] {u2}
    {1} Also[,|:|] {u2}
    {1} [Then|Now|Next|Plus|Oh, and|Oh and|Ah, and|Ok, and|And by the way,|Btw,|By the way,] {u2}
    {1} [After that|Next|Second|Secondly|Besides|Another one|One more|One more thing|Also \
    this|Moreover|Additionally|Further]: {u2}
    {1} [I also want to know|And one more question|Another question|A second question|My other question|And my \
    friend asks]: {u2}
    {1} [While you are at it|When you have that|If you know that|Once more|And since you are so good at this][,|:] \
    {u2}
    {1} [That was|This was] [one|the first|number one|the easy one]. [Second|Now|And|The other is|Two|Number \
    two][:|] {u2}
    {1} ... {2}
    [Two|2] [questions|things|quick ones|small questions|tasks][:|.|,] {1} {2}
    [Two|2] [questions|things|quick ones][:|.] {1} And {u2}
    [I have two questions|I've got 2 questions|Please answer both|Answer both|Both please|Two things|Answer in \
    order|I need two answers|Both answers please|Answer these|Could you answer both][:|.] {1} {2}
    [I have two questions|Please answer both|I need two things|Tell me two things][:|.] {b1} and {u2}
    [Tell me|Please tell me|Can you tell me|I want to know|I need][:|] {u1} [And|And also|Then]: {u2}
    1. {1} 2. {2}
    1) {1} 2) {2}
    (1) {1} (2) {2}
    1: {1} 2: {2}
    1 - {1} 2 - {2}
    #1 {1} #2 {2}
    Q1: {1} Q2: {2}
    a) {1} b) {2}
    a. {1} b. {2}
    A: {1} B: {2}
    i) {1} ii) {2}
    one: {u1} two: {u2}
    First[:|,|ly,] {u1} [Second|Then|Next|Secondly|After that|Afterwards][:|,] {u2}
    [First|To start|For a start|In the first place|Start with this][:|,] {u1} [Second|Then|Finally|After that|And \
    then][:|,] {u2}
    [First question|Question 1|Question one|My first question|Number one]: {1} [Second question|Question 2|Question \
    two|My second question|Number two]: {2}
    On the one hand, {u1} On the other hand, {u2}
    {name} asks: {1} [And {name2}|And I|Her brother|And somebody else] [asks|wants to know|would like to know]: {2}
    My [first|son's|sister's] question[:| is:] {1} [And mine|And the second|The other]: {2}
    {1} + also: {2}
    {1} // {2}
    - {1} - {2}
    {1} [Both answers please.|Then] {2}
    {1} {2} [Answer both.|Both, please.|Please answer both.|In this order.|Both answers, please.|Thanks for both.]
    {1} And {u2} [Answer both.|Both, please.|Thanks for both.]
    {b1}, and while [you are at it|we're at it|I'm asking|I have you], {u2}
    {b1} and, [if you know|if possible|while we are here|please], {u2}
    [Not only|First] {u1} [But also|But then]: {u2}
    [Both|Two things] [for|from] [my homework|the quiz|school|our bet|the crossword]: {1} [And|] {2}
    [My|The] [son|daughter] asks "{1}" and [my|the] [wife|husband|neighbour|other one] asks "{2}"
    [I|We] [want|need|have] to know two things[:|.] {u1} [And|And also|Plus]: {u2}
    [I was|We were] asked two things. {1} And {u2}
    {1} [That's|That is] the first. {2} [That's|That is] the second.
    {1} [Oh|Ah|Hm|Wait|Sorry][,|...] [and|also] {u2}
    {1} [Oh and|Oh, also|P.S.|PS:|One last thing:|And lastly,|And one more:|Before I forget:] {u2}
    [Answer|Tell me|Say] [both|two things][:|, please:] {u1} [and|&|plus] {u2}
    [Quick fire|Rapid fire|Speed round|Double question|Two in one|Combo][:|!] {1} {2}
    {b1}? {b2}?
    {b1}?? {b2}??
    {b1}... and {u2}
    {b1}, plus {u2}
    {b1}. {b2}.
    [Hi|Hello|Hey][,|!] {u1} [And|Also|Then] {u2} [Thanks|Thank you|Cheers|Ta][!|.]
    [Can|Could|Would] you [help me with|answer|do] two [things|questions][?|, please?] {1} {2}
    [Easy|Simple] one first: {u1} [Now the|And the] [hard one|second|other]: {u2}
    {1} [If you know that|If that was easy|When that is done|Since you know that], {u2}
    [It's|This is] [me|{name}] [again|] with two questions[:|.] {1} {2}
    [part one|part 1|one|first|1st] - {b1}, [part two|part 2|two|second|2nd] - {b2}
    {1} [Same|Another|New] [sheet|quiz|kid|bet], [second question|next one][:|,] {u2}
    * To begin with: {u1} To end with: {u2}
    * {1} Apart from that, {u2}
    * {1} On another note: {u2}
    * [This first|Let this come first]: {u1} [This second|And this after it]: {u2}
    * {b1}, [in addition|not to forget], {u2}
    """
)
TRIPLES = Grammar.read(
    """
    {1} {2} {3}
    {1} {2} {3}
    {1} {2} And {u3}
    {1} And {u2} And {u3}
    {b1}, {ub2}, and {u3}
    {b1}, {ub2} and {u3}
    {b1} and {ub2} and {u3}
    {b1}, {ub2}, {u3}
    {b1}; {ub2}; {u3}
    {b1} / {ub2} / {u3}
    {b1} [and|and also|plus] {ub2}, [and finally|and then|and last|and also] {u3}
    {1} Also[,|:|] {u2} [And|And then|Also|Last|Finally|Oh, and][,|:|] {u3}
    {1} Then {u2} [Last|Finally|And last|And lastly|Third|At the end]: {u3}
    {1} [Next|After that|Second]: {u2} [Next|After that|Third|Last one]: {u3}
    [Three|3] [questions|things|quick ones|tasks][:|.|,] {1} {2} {3}
    [Three|3] [questions|things|quick ones][:|.] {b1}, {ub2} and {u3}
    [I have three questions|Answer all three|All three please|Answer in order|Answer these][:|.] {1} {2} {3}
    1. {1} 2. {2} 3. {3}
    1) {1} 2) {2} 3) {3}
    (1) {1} (2) {2} (3) {3}
    1: {1} 2: {2} 3: {3}
    a) {1} b) {2} c) {3}
    a. {1} b. {2} c. {3}
    Q1: {1} Q2: {2} Q3: {3}
    - {1} - {2} - {3}
    [First|Firstly], {u1} [Second|Secondly], {u2} [Third|Thirdly|Finally], {u3}
    [First question|Question 1]: {1} [Second question|Question 2]: {2} [Third question|Question 3]: {3}
    {1} {2} {3} [Answer all.|All three, please.|In this order.|Thanks!]
    {b1}? {b2}? {b3}?
    {b1}. {b2}. {b3}.
    {1} {2} Oh, and {u3}
    {1} And {u2} [Oh and|And one last thing:|And finally,|P.S.] {u3}
    [Three|3] things [for|from] [my homework|the quiz|school|the crossword]: {1} {2} And {u3}
    [Quick fire|Rapid fire|Speed round|Triple question][:|!] {1} {2} {3}
    [I|We] [want|need|have] to know three things[:|.] {b1}, {ub2} and {u3}
    [Can|Could|Would] you answer three [things|questions]? {1} {2} {3}
    one: {u1} two: {u2} three: {u3}
    {b1}, plus {ub2}, plus {u3}
    {b1} + {ub2} + {u3}
    * {1} On we go: {u2} And to finish: {u3}
    * [A trio|Triple]: {b1} ~ {ub2} ~ {u3}
    """
)
# {s} states something else of the same kind, {q} asks.
STATEMENTS = Grammar.read(
    """
    {s} {q}
    {s} {q}
    {s} [But|And|So|Now|And now,|Okay, but] {u}
    I know [this|that one|this already]: {s} [But|Now] {u}
    [I know that|I have read that|I learnt that|They say that|Somebody told me that|Yesterday you said that] {us} {q}
    [Fact|For example|Example|By the way|Note]: {s} {q}
    {s} [I know that much|That I know|This is clear|That was easy]. {q}
    [Not about|This is not about|Forget about|I don't ask about] {z}[.|:] {q}
    {q} [Not about|I don't mean|I do not mean|I am not asking about|I'm not asking about|Not|And not|But not] {z}.
    {b}, [I don't mean|I do not mean|not|and not|but not|certainly not|please not|and please not|not for|not of] \
    {z}[?|.|!]
    {b} - [and please not|please not|not|and not|but not|I don't mean|not the one of|not that of] {z}[?|.|!]
    {b} ([not|I don't mean|and not] {z})[?|]
    {q} [Don't|Do not|Please don't] [tell me about|talk about|answer for|take|say anything about] {z}[.|!|, please.]
    {q} [It's|It is|This is] not about {z}[.|!]
    [It's|It is|This is] not about {z}[:|.|,] {u}
    [Don't|Do not|Please don't] [tell me about|talk about|think of|confuse it with|answer for] {z}[:|.|,|;] {u}
    [I'm|I am] not [asking about|interested in|talking about] {z}[:|.|,] {u}
    [Everybody|My teacher|{name}] [talks|asked|asks] about {z}[.|, but not me.|, I don't.] {q}
    [Not|No, not|Please not] {z}[!|.|:|,] {u}
    * {s} So far, so good. {q}
    * [Leave out|Never mind] {z}. {q}
    """
)


def with_names(text: str, rng: Random) -> str:
    """The frame with people in place of {name} and {name2}."""
    if "{name" not in text:
        return text
    first, second = rng.sample(NAMES, 2)
    return text.replace("{name}", first).replace("{name2}", second)


def joined(questions: Sequence[str], rng: Random, held_out: bool = False) -> str:
    """Two or three questions as one message."""
    ended = [text if text[-1] in "?.!" else text + rng.choice("??.") for text in questions]
    text = (PAIRS if len(ended) == 2 else TRIPLES).say(rng, held_out)
    text = with_names(text, rng)
    for place, question in enumerate(ended, start=1):
        bare = question.rstrip("?.! ")
        for name, asked in (
            (f"{{u{place}}}", uncapitalised(question)),
            (f"{{b{place}}}", bare),
            (f"{{ub{place}}}", uncapitalised(bare)),
            (f"{{{place}}}", question),
        ):
            text = text.replace(name, asked)
    return text


def after_statement(question: str, statement: str, other: str, rng: Random, held_out: bool = False) -> str:
    """The question after or before a statement about `other`, which the question is not about."""
    ended = question if question[-1] in "?.!" else question + "?"
    text = STATEMENTS.say(rng, held_out)
    text = text.replace("{s}", statement).replace("{us}", uncapitalised(statement)).replace("{z}", other)
    text = with_names(text, rng).replace("{b}", ended.rstrip("?.! "))
    return text.replace("{q}", ended).replace("{u}", uncapitalised(ended))
