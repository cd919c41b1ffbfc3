"""Restore: produces the records of a backup back into topics, each once, and tells where the old offsets are now."""
