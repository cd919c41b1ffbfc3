"""Three brokers that are restarted, frozen and killed, as in a production cluster."""
