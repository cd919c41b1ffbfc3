"""Finished folders: which folders by time will get no more records, and what tells readers so."""
