"""Reports of a member: logs, metrics, health, status, and the HTTP endpoint that serves them.

Import the names from their modules: the package itself imports neither Prometheus nor structlog for who needs neither.
"""
