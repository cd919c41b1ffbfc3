"""Values that are CSV: the block, and how they are written."""
