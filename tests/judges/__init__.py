"""What the parsers of JSON should make of values, in plain Python without code of the product's own."""
