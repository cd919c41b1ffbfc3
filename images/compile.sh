#!/bin/sh
# Compiles the modules of the environment $1, of all packages or of those that match $2. The files tell of no time, for
# layers of images may change times.
set -eu

"$1/bin/python" -m compileall -q -j 0 --invalidation-mode unchecked-hash "$1"/lib/python3*/site-packages/${2:-} || {
    echo "some modules do not compile; they are for other versions of Python, and run from source if at all" >&2
}
