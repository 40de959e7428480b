"""A study over generated cohorts, started in the browser: real client processes on the server's own machine.

Only where the operator permits it, by the address in `UNPOOLED_DEMO_ADDRESS`; one at a time.
"""
