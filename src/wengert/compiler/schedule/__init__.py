"""Which values are stored, which loops compute them, and where they are in memory."""
