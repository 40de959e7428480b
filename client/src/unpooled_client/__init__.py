PROGRAM = "unpooled-client"
"""Name of the distribution, and of the command."""
