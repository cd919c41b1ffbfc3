"""Manifests to start from, and the demo that runs one of them."""
