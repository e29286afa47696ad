"""The `ray` placement: actors on a Ray cluster, or on a private Ray of this service."""
