"""File formats, one module each: record batches in, bytes out. Pure; vectorised; deterministic."""
