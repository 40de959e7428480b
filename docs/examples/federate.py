"""Three cohorts' data frames in one process: their pool's summary, a model, and a plan for a real study."""

from sklearn.datasets import load_diabetes

import unpooled

pool = load_diabetes(as_frame=True).frame
cohorts = [pool[:120], pool[120:300], pool[300:]]

federation = unpooled.federate(cohorts)
print(federation.summary()[["name", "n", "mean", "deviation"]])

model = federation.fit("ridge", outcome="target")
print("R² on one cohort:", round(model.score(model.table(cohorts[0]), cohorts[0]["target"]), 2))

federation.plan.save("plan.json")
