"""Replays of history under the operator, without a cluster."""
