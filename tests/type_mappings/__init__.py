"""What each type is read from, and what it becomes, as the product itself says: the tables of docs/schemas.md.

``python -m tests.type_mappings docs/schemas.md`` writes them anew between their markers; a test compares them.
"""
