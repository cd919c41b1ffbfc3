"""Values that are MessagePack: the block."""
