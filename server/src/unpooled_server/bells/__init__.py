"""Workers, and how they hear that there is something to do."""
