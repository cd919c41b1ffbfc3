"""What the parsers of JSON and of lines should make of values, in plain Python without code of the product's own."""
