"""Readers of the files that we write, which share nothing with the writers: what a test or a verification trusts."""
