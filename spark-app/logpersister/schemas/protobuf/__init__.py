"""Protobuf's schemas: from `.proto` texts and descriptor sets to messages with all names resolved. Pure."""
