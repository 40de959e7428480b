"""Roles of people on a platform, the highest first."""

ADMINISTRATOR, COORDINATOR, OBSERVER = "administrator", "coordinator", "observer"
ROLES = (ADMINISTRATOR, COORDINATOR, OBSERVER)
