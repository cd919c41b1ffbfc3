"""Releases of the chart on an API server on which our definitions come and go."""
