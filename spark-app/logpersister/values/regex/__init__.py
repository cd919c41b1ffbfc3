"""Values that are texts of a pattern: block, syntax, rows."""
