"""`python -m unpooled_compensator`: the same as the command `unpooled-compensator`."""

from unpooled_compensator.cli import main

main()
