"""The web application: accounts, the coordinator's API and pages, and the command `unpooled`."""
