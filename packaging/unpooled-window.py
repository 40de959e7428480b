"""The window, as PyInstaller wants it: a file."""

import sys

from unpooled_client.window import main

sys.exit(main())
