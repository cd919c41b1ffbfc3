"""Tables: their rows are those of the stored objects, each exactly once (docs/design/tables.md).

- `offsets`: what a table holds, as its snapshots say it. Pure.
- `appends`: which receipts may go into a table now. Pure.
- `columns`: which columns a revision's files have. Pure.
- `access`: how a catalog is logged in to.
- `catalog`: the table itself, by pyiceberg, which is imported only where a manifest has a table.
- `single_commit`: one attempt at a snapshot, and never a second.
- `bindings`: by which numbers a table knows the columns; notes in the bucket, so that members need no catalog.
- `exchange`: which files a switch between generations takes out of a table, and which it puts in. Pure.
- `switching`: does so, in one snapshot.
- `data_files`: files as pyiceberg has them.
- `duty`: appends what is stored to the table of a topic, again and again.
"""
