"""Real crashes: members, broker and S3 server are killed, frozen and lied to at random; then the bucket is examined.

``python -m tests.chaos --help``; docs/chaos.md. Nothing here imports the product: it is seen from outside.
"""
