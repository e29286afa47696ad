"""A job from its submission to its result: admission, worker reports, streams, escalation, persistence."""
