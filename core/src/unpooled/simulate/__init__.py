"""A seeded generator of cohorts as PLINK files, and of the pooled file that they must agree with.

`simulate` writes, for K cohorts, `cohort1.{bed,bim,fam}` and so on; `pooled.{bed,bim,fam}`, which has the
variants that a study keeps, in canonical order, and the samples of all cohorts one after the other; `.pheno`
and `.cov` files where asked for; and `truth.json`, which says what was planted. It is for the demo, for tests
and for timings. It is not a secure random generator and nothing of the protocol uses it.
"""

from __future__ import annotations

from unpooled.simulate.study import SimulationReport, simulate

__all__ = ["SimulationReport", "simulate"]
