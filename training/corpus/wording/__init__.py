"""How a question is put, whatever it asks: frames, noise, and several questions in one message."""
