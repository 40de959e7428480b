from __future__ import annotations

from unpooled_webapp.cli import main

if __name__ == "__main__":
    main()
