"""Pictures of a finished association study, reduced to what a screen can show.

    associations  the result columns as P, frequency, effect, whatever the test
    manhattan     segments and the strongest points, of the whole genome or of a region
    loci          where there are associations, and the lead variant of each
    quantiles     observed against expected P, and lambda, by frequency
    lookup        variants by their IDs

All of it is computed from -log10 P, so that no P is too small, and in blocks: the columns may lie in files,
and only what is looked at is read.
"""
