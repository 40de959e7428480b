"""Build of the documentation: `make docs`. What the code can say of itself is read from it then."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

project = "Unpooled"
version = release = tomllib.loads((HERE.parent / "core/pyproject.toml").read_text())["project"]["version"]

extensions = ["myst_parser", "from_code"]
myst_enable_extensions = ["colon_fence", "deflist", "smartquotes"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "measured"]
nitpicky = True

html_theme = "furo"
html_title = f"Unpooled {version}"
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["extra.css"]
html_theme_options = {"navigation_with_keys": True}
