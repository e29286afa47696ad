"""Random work and random faults against a real service, then a look at what everybody saw.

python -m tests.chaos.soak --minutes 30 --seed 7

`clients.py` makes work, `nemesis.py` makes faults, both note what they see in a `history.py`, and
`checker.py` judges the history afterwards, knowing nothing but what is written there.
"""
