"""Replays of history as Jobs: the kind LogReplay."""
