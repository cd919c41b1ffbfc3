"""Types of the statuses of our kinds."""
