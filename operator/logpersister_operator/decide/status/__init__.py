"""Decisions about the status of a resource: its conditions, its fields, and the events of their changes. Pure."""
