"""Format ``jsonl``: JSON lines."""
