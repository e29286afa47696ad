"""The kinds of questions: what each asks, in every form of sentence, and its answer."""
