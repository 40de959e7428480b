"""`python -m unpooled_client`, the same as `unpooled-client`."""

from unpooled_client.commands.cli import main

main()
