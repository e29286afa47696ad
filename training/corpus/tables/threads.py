"""What people say in the second turn of a conversation and later, in the notation of the grammar."""

from __future__ import annotations

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
