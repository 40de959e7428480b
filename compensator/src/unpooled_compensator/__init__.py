"""The compensator: adds masks it cannot interpret.

store     rows: what was promised to whom, in one SQLite file
service   rules: who is enrolled, which sums are given out, what is refused
app       HTTP: requests into calls of the service, refusals into answers
state     the files of the state directory: the key and the caller's hashed secret
cli       the command `unpooled-compensator`
"""
