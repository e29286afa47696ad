"""The wording of a question of any kind: frames, noise, and several questions in one message."""
