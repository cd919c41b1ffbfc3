"""The Kubernetes API: kinds, requests with deadlines, server-side apply, events."""
