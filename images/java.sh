#!/bin/sh
# Makes a Java runtime in $1 of the modules beside this script, with the archive of classes that makes it start fast.
set -eu

modules=$(sed 's/ *#.*//' "$(dirname "$0")/java-modules.txt" | xargs | tr ' ' ,)
home=$(dirname "$(dirname "$(readlink -f "$(command -v jlink)")")")
jlink --add-modules "$modules" --output "$1" --strip-debug --no-man-pages --no-header-files
# Debian keeps what signed certificates are trusted by outside of the module.
cp --dereference "$home/lib/security/cacerts" "$1/lib/security/cacerts"
"$1/bin/java" -Xshare:dump
"$1/bin/java" --list-modules
