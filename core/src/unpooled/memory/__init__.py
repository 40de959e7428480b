"""Hold large things: columns and arrays on the disk from a size on, and texts cut into tokens."""
