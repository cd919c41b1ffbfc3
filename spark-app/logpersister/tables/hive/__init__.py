"""Hive tables: external tables over the folders of topics, in a Hive metastore or in Glue (docs/design/hive.md).

- `columns`: which columns such a table must have, and how engines read its files. Pure.
- `folders`: which partition a folder is. Pure.
- `metastore`: what is asked of a metastore; `thrift_client` and `glue_client` ask.
- `table`: the table of a topic: made, given columns, given partitions.
- `duty`: registers what is noted as new, again and again.
"""
