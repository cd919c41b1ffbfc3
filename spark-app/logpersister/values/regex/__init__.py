"""Values that are texts of a pattern: the block, and the pattern."""
