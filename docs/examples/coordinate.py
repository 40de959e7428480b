"""A coordinator in Python: creates a study, invites three cohorts, waits, and downloads the results.

python coordinate.py https://studies.example.org admin
"""

import getpass
import sys
import time
from pathlib import Path

import httpx

server, user = sys.argv[1:3]
with httpx.Client(base_url=f"{server}/api/v1/", headers={"Referer": server}) as api:
    signed_in = api.post("session", json={"username": user, "password": getpass.getpass()})
    signed_in.raise_for_status()
    api.headers["X-CSRFToken"] = api.cookies["csrftoken"]

    plan = {"test": "chi-square", "phenotype": "asthma", "cohorts": 3}
    created = api.post("studies", json={"name": "Asthma, three sites", "plan": plan})
    study = created.raise_for_status().json()["id"]
    for cohort in ("Graz", "Munich", "Tartu"):
        issued = api.post(f"studies/{study}/invitations", json={"cohort": cohort})
        print(cohort, issued.raise_for_status().json()["invitation"])

    while True:  # it starts by itself once every cohort is ready
        progress = api.get(f"studies/{study}/progress").raise_for_status().json()
        print(progress["state"], progress["title"], progress["waiting_for"])
        if progress["state"] in ("done", "failed", "aborted"):
            break
        time.sleep(5)

    for result in api.get(f"studies/{study}/results").raise_for_status().json():
        content = api.get(f"studies/{study}/results/{result['name']}").raise_for_status().content
        Path(result["name"]).write_bytes(content)
