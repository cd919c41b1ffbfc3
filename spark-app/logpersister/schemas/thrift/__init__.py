"""Thrift's schemas: from IDL texts to structs with all names resolved, and to columns. Pure."""
