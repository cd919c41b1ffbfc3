"""A member of a new revision beside the old one: what both store is compared (docs/operations.md, shadow mode)."""
