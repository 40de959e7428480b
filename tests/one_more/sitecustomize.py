"""Python imports this at its start where PYTHONPATH has this folder: every party then knows one more test."""

import one_more_test

one_more_test.register()
