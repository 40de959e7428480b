"""Reads of more than one row, for pages, clients and pictures. Nothing here writes."""
