"""Python imports this at its start where PYTHONPATH has this folder: every party then knows one more test."""

from unpooled.method_modules import VARIANTS

VARIANTS["one-more"] = "one_more_test"
