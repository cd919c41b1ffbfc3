"""Tables of Hive: one metastore and one Spark for all."""
