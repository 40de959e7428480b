"""The command line, as PyInstaller wants it: a file."""

from unpooled_client.commands.cli import main

main()
