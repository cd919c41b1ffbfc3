"""What blocks of ``spec`` must be together, and the specs of topics and types."""
