"""Readers of a cohort's files, and the offline check. Nothing here opens a socket."""
