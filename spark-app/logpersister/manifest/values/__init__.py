"""Kinds of values, as ``spec.value`` and ``spec.key`` name them: one block of the manifest each.

A block is compiled into how values are read (`manifest.values.parser`) and the columns that they become
(`manifest.values.row_schema`), so that nothing behind the manifest depends on its words.
"""
