"""Feeds: sources that are polled over HTTP, and whose new contents become records of a topic (docs/feeds.md)."""
