"""What parsers, filters and layouts should make of records, in plain Python without code of the product's own."""
