"""JSON Schema (drafts 4 to 2020-12): the columns of a schema, and which other versions of it these can read."""
