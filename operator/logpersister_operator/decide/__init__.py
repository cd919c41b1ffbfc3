"""Decisions: from what is observed to what is to be done. Pure."""
