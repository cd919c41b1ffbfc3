"""Values that are protobuf: block, columns of `.proto` texts and descriptor sets with all names resolved, rows."""
