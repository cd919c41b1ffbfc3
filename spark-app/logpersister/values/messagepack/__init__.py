"""Values that are MessagePack: block and rows."""
