"""Tells people what became of their studies, by mail or webhook.

The database is the queue: an event puts a row there for each channel, in the transaction that changes the
study (`events`), and a worker takes what is due (`delivering`). A worker that is killed has delivered or not;
the row is taken again, so a notice may come twice but is not lost.
"""
