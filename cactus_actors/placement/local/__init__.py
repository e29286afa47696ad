"""Actors as processes of this machine, which end with the process that placed them."""

from cactus_actors.placement.local.local_placement import LocalPlacement

__all__ = ["LocalPlacement"]
