"""Puts records out of quarantine where they belong, once a revision accepts them (docs/design/quarantine.md)."""
