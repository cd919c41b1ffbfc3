"""Columns and their types, and the readers of the languages in which writers declare them. Pure."""
