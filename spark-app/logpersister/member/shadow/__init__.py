"""A member of a new revision beside the old one: what both store is compared (docs/design/shadow.md)."""
