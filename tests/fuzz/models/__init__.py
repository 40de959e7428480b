"""Random federations of tables that models are fitted to, beside scikit-learn's and statsmodels' of the pool.

federation  what a seed makes of them: method, columns, outcome, cohorts, what is missing
files       CSV and Parquet, through the client's readers
truth       plain counting: which floor is not held, which levels are kept, the columns of the design
networks    torch, for networks
fits        scikit-learn, statsmodels, and a closed form
judge       all of it: refusals, coefficients, standard errors, errors, and performance
"""
