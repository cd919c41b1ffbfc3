"""Acting on decisions: the only place that changes anything."""
