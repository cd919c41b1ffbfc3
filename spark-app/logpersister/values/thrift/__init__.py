"""Values that are Thrift: block, columns of IDL texts with all names resolved, what becomes of each field."""
