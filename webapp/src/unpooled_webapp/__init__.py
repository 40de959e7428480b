"""The web application: accounts, the coordinator's API and its pages, and the command `unpooled`."""
