"""Blocks of ``spec``, one module each."""
