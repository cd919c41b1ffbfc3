"""Decisions about the number of members. Pure."""
