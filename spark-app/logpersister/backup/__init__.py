"""Backups (format ``kafka``): which object holds which offsets of a partition."""
