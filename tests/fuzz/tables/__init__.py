"""Random federations of odd tables, each from one integer, beside what the pooled table gives.

columns     kinds of odd columns
federation  what a seed makes of them: method, masks, cohorts, missing values
files       CSV and Parquet, through the client's readers and writers
truth       rational numbers and long double
judge       whether parameters are right
compare     all of it: what is read, parameters, cells, and what they are turned back into
shrink      the least that still disagrees
"""
