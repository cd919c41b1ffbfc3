#!/bin/sh
# Takes out of the environment $1 what neither members nor executors use; $2 lists jars of Spark.
set -eu

site=$(echo "$1"/lib/python3*/site-packages)
ln -s "$site/pyspark" "$1/spark"

sed 's/ *#.*//' "$2" | xargs -n 1 | while read -r pattern; do
    set -- "$site"/pyspark/jars/$pattern # the pattern becomes the jars
    [ -e "$1" ] || {
        echo "$pattern is not among Spark's jars: take it off the list" >&2
        exit 1
    }
    rm -r "$@"
done
# The same modules as in site-packages, but packed, found first, and so compiled anew by each daemon of workers.
rm -r "$site/pyspark/python"
rm -r "$site/pyspark/examples" "$site/pyspark/data" "$site/pyarrow/include"
find "$site/numpy" "$site/pyarrow" -type d -name tests -prune -exec rm -r {} +
