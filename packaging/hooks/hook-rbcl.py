"""Its functions are read again from their source when it is loaded."""

module_collection_mode = "py"
