"""Decisions about revisions: the inputs of the rollout's state machine, and what it asks for. Pure."""
