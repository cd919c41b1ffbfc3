"""Measurements. Nothing here is a test: machines differ, and so does the same machine from hour to hour."""
