"""Format ``orc``: ORC."""
