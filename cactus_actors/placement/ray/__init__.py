"""The `ray` placement: actors on a Ray cluster, or on a private Ray instance of this service."""
