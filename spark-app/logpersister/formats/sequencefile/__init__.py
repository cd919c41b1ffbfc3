"""Format ``sequencefile``: Hadoop's SequenceFile."""
