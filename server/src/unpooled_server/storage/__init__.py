"""Files of studies on disk, columns in them, and archives of them."""
