"""The Kubernetes objects of an application, as documents to apply. Pure."""
