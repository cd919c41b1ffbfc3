"""Format ``text``: Lines of text."""
