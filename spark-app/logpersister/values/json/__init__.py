"""Values that are JSON: block, columns of JSON Schema (drafts 4 to 2020-12), check of documents."""
