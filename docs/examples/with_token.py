"""Creates a study with an API token that may change, invites three cohorts, and says how the study stands.

UNPOOLED=https://studies.example.org python with_token.py
"""

import os
from pathlib import Path

import httpx

token = Path("unpooled-token").read_text().strip()
headers = {"Authorization": f"Bearer {token}"}
with httpx.Client(base_url=f"{os.environ['UNPOOLED']}/api/v1/", headers=headers) as api:
    plan = {"test": "chi-square", "phenotype": "asthma", "cohorts": 3}
    created = api.post("studies", json={"name": "Asthma, three sites", "plan": plan})
    study = created.raise_for_status().json()["id"]
    for cohort in ("Graz", "Munich", "Tartu"):
        issued = api.post(f"studies/{study}/invitations", json={"cohort": cohort}).raise_for_status().json()
        Path(f"{cohort}.txt").write_text(issued["invitation"])
    progress = api.get(f"studies/{study}/progress").raise_for_status().json()
    print(progress["state"], "waiting for", ", ".join(progress["waiting_for"]))
