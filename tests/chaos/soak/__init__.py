"""Random work and random faults against a real service, then a look at what everybody saw.

python -m tests.chaos.soak --minutes 30 --seed 7

`clients.py`, `http_readers.py` and `prompt_files.py` make work; `nemesis.py`, `links.py` and `bad_peer.py`
make faults. All note what they see in a `history.py`, and `checker.py`, with `growth.py` for memory, judges
the history afterwards, knowing nothing but what is written there.
"""
