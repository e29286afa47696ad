"""Requests for a tiny story, in more wordings than stories.py has."""

from __future__ import annotations

import re
from random import Random

from training.corpus.cores.core import Core
from training.corpus.cores.relation import grammar
from training.corpus.phrasing import with_articles
from training.corpus.stories import story as first_story

_HERO = re.compile(r"^Once there was an? (\w+) named (\w+)\.")
REQUESTS = grammar(
    """
    [Tell|Write|Give|Invent|Make up|Make] [me|us|] a [story|short story|tiny story|little story|fairy tale]{of}[.|!|]
    [Can|Could|Would|Will] you [tell|write|make up|invent] [me|us|] a [story|short story|little story|tale]{of}[?|]
    [I want|I need|I'd like|I would like|We want] [to hear|to read|] a [story|short story|tale]{of}[.|, please.]
    Please [tell|write|invent|make up] [me|] a [story|short story|tiny story]{of}[.|]
    [A story|Story|Story please|A short story|One story|A tale]{of}[.|, please.|]
    [Do you know|Have you got|Do you have] a [story|tale|short story]{of}?
    [My son|My daughter|My child|The baby] wants a [story|bedtime story]{of}[.|]
    It is bed time, tell [me|us] a [story|tale]{of}[.|]
    * [Entertain|Amuse] [me|us] with a [story|tale]{of}[.|!]
    * Let me [hear|read] a [story|tale]{of}[.|]
    """
)
ABOUT = grammar(
    """
    about a {animal} [named|called|with the name|whose name is] {name}
    about {name} the {animal}
    of {name} the {animal}
    of a {animal} [named|called] {name}
    [with|about] a {animal}; its name is {name}
    in which {name} the {animal} is the hero
    * where {name}, a {animal}, is the hero
    """
)
ABOUT_ANIMAL = grammar("[about|with|of|on] a {animal}\nwith a {animal} in it\n* in which a {animal} plays")


def story(rng: Random, held_out: bool = False) -> Core:
    text = first_story(rng, held_out=False).wanted
    hero = _HERO.match(text)
    assert hero is not None
    animal, name = hero.groups()
    subject = rng.choices((ABOUT, ABOUT_ANIMAL, None), (6, 2, 2))[0]
    request = REQUESTS.say(rng, held_out)
    about = " " + subject.say(rng, held_out) if subject is not None else ""
    question = with_articles(request.replace("{of}", about).format(animal=animal, name=name))
    return Core("stories", question[:1].upper() + question[1:], text, (animal, name))
