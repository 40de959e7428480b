"""Answers to those who run a platform: whether it lives and can work, and its figures."""
