"""The store on a real S3 server."""
