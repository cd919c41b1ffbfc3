"""The bucket: names of objects, streaming them in, and what is remembered beside them."""
