"""The command line, as PyInstaller wants it: a file."""

from unpooled_client.cli import main

main()
