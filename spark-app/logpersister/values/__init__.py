"""Kinds of values, a folder each: block of the manifest, columns of its schemas, binding to the native parser.

A block is compiled into how values are read (`values.parser`) and the columns that they become (`values.row_schema`).
What makes rows (`values.rows`, `values.reading`) is imported by members only: the operator has no Arrow.
"""
