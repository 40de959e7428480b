"""HTTP for cohorts, under /api/v1/cohort/. Plain Django views: shares are raw words, nothing to parse."""
