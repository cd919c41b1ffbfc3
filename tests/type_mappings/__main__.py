"""Writes the tables of a page anew."""

import sys
from pathlib import Path

from tests.type_mappings.page import with_tables

for file in map(Path, sys.argv[1:]):
    file.write_text(with_tables(file.read_text()))
