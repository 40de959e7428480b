"""The plan of a study: options, schema, encodings, and all else that its author decides."""
