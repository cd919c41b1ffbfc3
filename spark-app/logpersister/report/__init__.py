"""What a member tells about itself: logs, metrics, health, status, and the HTTP endpoint that serves them.

Import the names from their modules: this package must not import Prometheus or structlog for a caller who needs neither.
"""
