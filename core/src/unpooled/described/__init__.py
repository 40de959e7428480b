"""Words and tables drawn from declarations: facts, what leaves, parties, report, methods section."""
