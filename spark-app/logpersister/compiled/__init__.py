"""How records become objects, compiled once for each topic from the resource (docs/design/values.md#compiled-once)."""
