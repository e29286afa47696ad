"""Random load and random faults against a real service, then a check of the recorded history.

python -m tests.chaos.soak --minutes 30 --seed 7

`clients.py`, `http_readers.py` and `prompt_files.py` make work; `nemesis.py`, `links.py` and `bad_peer.py`
make faults. All record their observations in a `history.py`, and `checker.py`, with `growth.py` for memory,
checks the history afterwards without any other information.
"""
