"""Random federations of tables of words, each from one integer, beside what the pooled table gives.

words       odd words, how often each is there, and how people write it
federation  what a seed makes of them: encodings, options, cohorts, what is missing
files       CSV and Parquet, through the client's readers and writers
truth       plain counting, and rational numbers
learned     scikit-learn
judge       whether dictionaries and numbers are right
compare     all of it: refusals, what is read, dictionaries, and encoded cells
"""
