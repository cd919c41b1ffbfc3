"""FeedCollectors: what runs for each, what its replicas say, and its status."""
