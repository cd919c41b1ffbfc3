"""Values that are CSV: block, syntax, rows."""
