"""The words of arithmetic: noun phrases, commands and little stories for every operation.

{a} and {b} are the terms; for a difference {a} is the larger one. {things} are what stories count.
"""

from __future__ import annotations

from training.corpus.wording.grammar import Grammar
from training.corpus.wording.reserved import RESERVED
from training.corpus.wording.sentence_frames import MACROS


def _grammar(text: str) -> Grammar:
    return Grammar.read(text, MACROS, RESERVED)


# Around a noun phrase, besides the frames that all kinds share.
CALCULATIONS = _grammar(
    """
    {np}
    {np}
    {np}
    {np}?
    {np}?
    {np} =
    {np} =?
    {np} = ?
    What is {np}?
    What is {np}?
    What's {np}?
    How much is {np}?
    How much is {np}?
    How much [does|do|would] {np} [make|give|come to|be]?
    How many is {np}?
    What [does|do|will|would] {np} [make|give|equal|come to|be equal to|amount to|result in|yield]?
    What do [you|I|we] get [for|from|with|out of] {np}?
    [Calculate|Compute|Work out|Solve|Evaluate|Figure out|Do|Determine|Count|Find|Calc] {np}[.|, please.||!| for me.]
    [Please|Can you|Could you|Would you|Will you] [calculate|compute|work out|solve|figure out|do|find] {np}[?|.|]
    {np} [equals|makes|gives|is|is equal to|comes to|are|results in][...|?| what?| how much?| ___|]
    {np} [is how much|makes how much|is what|equals what|gives what|how much is it|what is it]?
    [The result|The answer|The total|The outcome|The solution|The value|Result|Answer] of {np}[?|, please.|]
    What is the [result|answer|total|outcome|solution|value] of {np}?
    [I need|Give me|Tell me] the [result|answer|solution|value|outcome] of {np}[.|, please.]
    <ask> [how much|what] {np} is[.|?|]
    <tellme> {np}[.|, please.|]
    <know> [how much|what] {np} is?
    [Quick maths|Math question|Maths|Homework|A sum for you|Exercise|Problem]: {np}[?|.| =|]
    My [homework|exercise|maths book|teacher] [says|asks]: {np}[.|?| =|]
    I [get stuck on|can't do|am not good at|cannot solve] {np}. [Help me.|What is it?|Can you?|How much is it?]
    [So|And|Now|Then|Ok] {np}?
    If I [calculate|compute|type in|work out] {np}, what [do I get|is it|comes out|is the result]?
    * [By your reckoning|In your head|Without a calculator], what's {np}?
    * {np}, what [number|figure] is that?
    * Put {np} into one number.
    * [What number|Which number] [do I write|stands|comes] after "{np} ="?
    * How would you answer {np}?
    """
)
SUM_PHRASES = _grammar(
    """
    {a} + {b}
    {a} + {b}
    {a}+{b}
    {a}+ {b}
    {a} plus {b}
    {a} plus {b}
    {a} and {b}
    {a} added to {b}
    {a} increased by {b}
    {a} [and|plus] {b} [together|in total|combined|added up|added together|all together]
    {a} with {b} added
    {a} [and|plus] [another|a further|an additional] {b}
    the sum of {a} and {b}
    the total of {a} and {b}
    the sum [{a} + {b}|{a} plus {b}]
    sum of {a} and {b}
    sum {a} {b}
    add {a} and {b}
    {b} more than {a}
    {a} [& {b}|n {b}]
    {a} [+|plus] [the number|] {b}
    * the sum you get from {a} and {b}
    * {a} raised by {b}
    * {a} put together with {b}
    """
)
SUM_SENTENCES = _grammar(
    """
    Add {a} [and|to|plus|with|+] {b}[.|, please.|]
    Add {b} [on|on top of|onto] {a}[.|]
    [Add|Sum] up {a} and {b}[.|, please.|]
    [Sum|Total|Combine] {a} and {b}[.|, please.|]
    [Can|Could|Would] you add {a} [and|to|with] {b}[ for me|]?
    What do [you|I|we] get [if|when] [you|I|we] add {a} [and|to|with] {b}?
    What [is it|happens|comes out] [if|when] [you|I] add {a} [and|to] {b}?
    How much is it [if|when] [you|I] [add|put together] {a} and {b}?
    [If|When] [I|you] add {a} [to|and] {b}, what [do I get|is it|comes out|is the sum]?
    What number is {b} more than {a}?
    [Which|What] number is {b} [bigger|larger|greater|higher] than {a}?
    Start [with|at|from] {a} and add {b}[.|. What do you get?|.]
    Take {a} [and|,] [add|then add] {b}[.|. What is it?|]
    {a}, [add|plus] {b}, [what|how much] is it?
    How much [are|do] {a} and {b} [together|make|add up to|make together]?
    I [have|had|own|bought] {a} {things} and [get|buy|find|am given] {b} more. How many [do I have|are there] now?
    I [have|had] {a} {things}. [{name}|My friend|Mum] gives me {b} more. How many [have I|do I have] now?
    {name} has {a} {things} and [I have|{other} has] {b}. How many [do we have|are there|is that] [together|in all]?
    There are {a} {things} [on the table|in a box|in the shop]. {b} more [come|are added]. How many are there?
    {a} {things} and {b} {things} [are|make] how many {things}?
    {a} {things} plus {b} {things}[?| is how many?]
    I [spent|paid] {a} [euros|dollars|pounds] and then {b}[| more]. How much [did I spend|is that] [in all|together]?
    I am {a} years old. How old [will I be|am I] in {b} years?
    * {b} on top of {a}, [how much|what] does that [make|come to]?
    * [Lump|Throw] {a} and {b} together.
    * A shelf holds {a} {things}, another {b}. How many do both hold?
    * {name} read {a} pages [yesterday|] and {b} today. How many pages in all?
    """
)
DIFFERENCE_PHRASES = _grammar(
    """
    {a} - {b}
    {a} - {b}
    {a}-{b}
    {a} -{b}
    {a} minus {b}
    {a} minus {b}
    {a} less {b}
    {a} take away {b}
    {a} reduced by {b}
    {a} decreased by {b}
    {a} without {b}
    {b} [less than|fewer than|below] {a}
    {b} subtracted from {a}
    {b} taken [from|away from|off] {a}
    {b} from {a}
    subtract {b} from {a}
    the difference of {a} and {b}
    the difference between {a} and {b}
    the difference between {b} and {a}
    difference between {a} and {b}
    difference {a} {b}
    the distance from {b} to {a}
    {a} with {b} [removed|taken away|subtracted]
    * what remains of {a} after {b}
    * {a} lowered by {b}
    * the gap between {b} and {a}
    """
)
DIFFERENCE_SENTENCES = _grammar(
    """
    [Subtract|Take|Remove|Deduct] {b} from {a}[.|, please.|]
    [Take|Subtract] {b} [off|away from] {a}[.|]
    Take {a} and [subtract|remove|take away] {b}[.|. What is left?|]
    [Take away|Deduct|Subtract] {b} from {a}[.|]
    [Can|Could|Would] you [subtract|take|deduct] {b} from {a}[ for me|]?
    What do [you|I|we] get [if|when] [you|I|we] [take|subtract] {b} from {a}?
    What [is left|remains|do I have left] [if|when] [I|you] take {b} [from|away from] {a}?
    What [is left|remains] of {a} [if|when] [I|you] take away {b}?
    How much more is {a} than {b}?
    How much [bigger|larger|greater|higher] is {a} than {b}?
    How much [less|smaller|lower] is {b} than {a}?
    By how much is {a} [more|bigger|larger|greater|higher] than {b}?
    By how much [does {a} exceed {b}|is {b} smaller than {a}]?
    How [far|much] is it from {b} to {a}?
    How [much|many] [do I add|must I add|do I need to add|is missing] to {b} to [get|make|reach] {a}?
    What [must|do] I add to {b} to [get|make|reach] {a}?
    How many [are|is] [missing|lacking] from {b} to {a}?
    {b} plus what [is|makes|gives] {a}?
    {b} + ? = {a}
    What [is|number is] {b} less than {a}?
    [Which|What] number is {b} [smaller|less|lower] than {a}?
    Start [with|at|from] {a} and [go back|count back|subtract|take away] {b}[.|]
    I [have|had|own|bought] {a} {things} and [lose|eat|give away|sell] {b}. How many [are left|do I have left|remain]?
    I had {a} {things}. {b} [are gone|were stolen|got lost|broke]. How many [are left|do I have now|remain]?
    {name} has {a} {things} and gives [me|{other}] {b}. How many [are left|has {name} left|does {name} keep]?
    There are {a} {things} [on the table|in a box|in the shop]. I take {b} [away|of them]. How many [remain|are left]?
    {name} has {a} {things}, {other} has {b}. How many more [has {name}|does {name} have]?
    I need {a} {things} and have {b}. How many [more do I need|are missing|do I still need]?
    From {a} {things}, {b} {things} are [eaten|sold|lost|gone]. How many are left?
    I am {a} years old. How old was I {b} years ago?
    I [have|had] {a} [euros|dollars|pounds] and [spend|pay|spent] {b}. How much [is left|do I have left]?
    * {a} people are on a bus and {b} get off. How many [stay|stay on]?
    * A rope is {a} metres long and I cut off {b}. How long is [it now|the rest]?
    * What remains once {b} has gone from {a}?
    """
)
PRODUCT_PHRASES = _grammar(
    """
    {a} x {b}
    {a}x{b}
    {a} * {b}
    {a}*{b}
    {a} × {b}
    {a} times {b}
    {a} times {b}
    {a} multiplied by {b}
    {a} multiplied with {b}
    {a} by {b}
    {a} [lots|groups|sets] of {b}
    {a} [time|X] {b}
    the product of {a} and {b}
    product of {a} and {b}
    the product [{a} x {b}|{a} times {b}|{a} * {b}]
    {a} and {b} multiplied
    multiply {a} [and|by|with] {b}
    {a} [fold|-fold] {b}
    {a} of {b} each
    * the multiple of {a} and {b}
    * {b} taken {a} times
    * {b} repeated {a} times and added up
    """
)
PRODUCT_SENTENCES = _grammar(
    """
    Multiply {a} [by|and|with|times] {b}[.|, please.|]
    [Can|Could|Would] you multiply {a} [by|and|with] {b}[ for me|]?
    What do [you|I|we] get [if|when] [you|I|we] multiply {a} [by|and|with] {b}?
    [If|When] [I|you] multiply {a} [by|and|with] {b}, what [do I get|is it|comes out|is the product]?
    How much are {a} times {b}?
    {a} times {b} [are|makes|is how much]?
    What is {a} [-times|times] as [much|many] as {b}?
    There are {a} boxes with {b} {things} [each|in each|in every box]. How many {things} [are there|is that|in all]?
    {a} [children|friends|people] have {b} {things} each. How many {things} [are there|is that|in all|do they have]?
    I [buy|bought|have] {a} [bags|packs|boxes|baskets] of {b} {things}. How many {things} [do I have|is that|are there]?
    One [costs|weighs] {b}[| euros| dollars]. [How much|What] do {a} cost?
    {a} rows of {b} {things}: how many {things}[?| in all?| are there?]
    In the times table, what is {a} times {b}?
    {name} [reads|walks|runs|eats|sells] {b} a day. How many in {a} days?
    * {a} tables stand in a room, each with {b} {things} on it. How many {things}?
    * What does the times table give for {a} and {b}?
    * {b} {things} a week, for {a} weeks. How many in all?
    """
)
# Other operations: the model solves none of them, whatever the numbers.
UNSOLVED_PHRASES = _grammar(
    """
    {a} / {b}
    {a}/{b}
    {a} : {b}
    {a} ÷ {b}
    {a} divided by {b}
    {a} over {b}
    {a} split [by|into] {b}
    the quotient of {a} and {b}
    [half|a half|a third|a quarter|a fifth|one tenth] of {a}
    {b} [percent|per cent|%] of {a}
    {b}% of {a}
    the [square|cube|] root of {a}
    root {a}
    [sqrt({a})|√{a}]
    {a} [squared|cubed]
    {a} to the power of {b}
    {a}^{b}
    {a} ** {b}
    the [square|cube|logarithm|sine|cosine|factorial] of {a}
    [log|ln|sin|cos|tan]([{a}|{b}])
    {a}!
    {a} [modulo|mod] {b}
    the remainder of {a} [divided by|and] {b}
    the [average|mean|median] of {a} and {b}
    {a} + {b} + {c}
    {a} plus {b} plus {c}
    {a} + {b} - {c}
    {a} x {b} x {c}
    {a} times {b} plus {c}
    {a} * {b} + {c}
    ({a} + {b}) x {c}
    ({a} - {b}) * {c}
    {a} minus {b} minus {c}
    the sum of {a}, {b} and {c}
    the product of {a}, {b} and {c}
    {a}.{c} + {b}
    {a}.{c} x {b}
    {a}.{c} - {b}.{c}
    {a} plus {b}.{c}
    {a} point {c} [plus|times|minus] {b}
    [{a} and a half|half of {a}] [plus|times] {b}
    -{a} + {b}
    -{a} - {b}
    minus {a} [plus|minus|times] {b}
    {a} - -{b}
    {a}/{b} + {c}
    {a} thirds plus {b} quarters
    {a}x + {b} = {c}
    the greatest common divisor of {a} and {b}
    the least common multiple of {a} and {b}
    the prime factors of {a}
    the number of digits of {a} [times|plus] {b}
    {a} in binary
    {a} in [hexadecimal|Roman numerals]
    * the ratio of {a} to {b}
    * one and a half times {a}
    * {a} shared equally among {b}
    * twice the sum of {a} and {b}
    """
)
UNSOLVED_SENTENCES = _grammar(
    """
    Divide {a} by {b}[.|, please.|]
    How many times does {b} [go|fit] into {a}?
    What do I get if I divide {a} by {b}?
    I have {a} {things} for {b} [children|friends|people]. How many does each get?
    Share {a} {things} among {b} [children|friends|people][.|. How many each?]
    Is {a} [a prime number|prime|divisible by {b}]?
    Solve x + {a} = {b}x[.|]
    Solve {a}x = {b}[.|]
    Round {a}.{c} [up|down|to a whole number][.|]
    What is the next prime number after {a}?
    Split {a} {things} into {b} equal parts.
    How many percent of {a} is {b}?
    * Cut {a} {things} into {b} piles. How many are in each?
    * Which numbers divide {a}?
    """
)
COMPARISONS = _grammar(
    """
    [Which|What] is [{more}|the {more} one|the {more} number], {a} or {b}? => which is {more}, {a} or {b}
    [Which|What] number is {more}, {a} or {b}? => which number is {more}, {a} or {b}
    [Which|What] is {more}: {a} or {b}?
    {a} or {b}, [which|what] is {more}?
    {a} or {b}: [which|what] is {more}?
    {a} and {b}, which [one|number|] is {more}?
    Is {a} {more} than {b}[?|, or not?| or the other way round?]
    [Of|From|Between] {a} and {b}, which is {more}?
    {more}: {a} or {b}[?|]
    which is {more} {a} or {b}
    [Compare|Look at] {a} [and|with] {b}. Which is {more}?
    <tellme> the {more} [number|one] of {a} and {b}.
    * Among {a} and {b}, name the {more} one.
    * {a} {things} or {b} {things}, what is {more}?
    """
)
