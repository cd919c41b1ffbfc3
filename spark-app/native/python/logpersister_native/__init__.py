"""Decodes Kafka record batches into Arrow buffers; the module `logpersister.pipeline.reader.decode` offers it.

Written in Rust (spark-app/native).
"""

from logpersister_native._native import CorruptBatchError, Run, decode, decompress

__all__ = ["CorruptBatchError", "Run", "decode", "decompress"]
