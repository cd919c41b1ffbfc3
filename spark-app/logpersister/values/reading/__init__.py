"""What the rows of all kinds have in common: native parsers, writers' schemas, results."""
