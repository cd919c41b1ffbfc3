"""The Kubernetes operator: observes `LogPersister` resources, decides, and applies what runs them."""
