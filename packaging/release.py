"""Makes a release's folder, dist/release-VERSION: everything that those who install one are given.

make release [ARGS="--key FILE"]

*.whl              each distribution, with the browser application in the platform's
source.tar.gz      the commit: what images are built from
sbom/              what each distribution consists of (CycloneDX)
NOTES.md           this version's part of docs/releases.md
SHA256SUMS         the digests of all of that, and SHA256SUMS.sig where a key of ssh-keygen is named
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from wheels import ROOT, build, run, size, sums

DISTRIBUTIONS = ("core", "compensator", "client", "server", "webapp", "networks")
SIGN = "ssh-keygen -Y sign -n unpooled -f KEY {}"
VERIFY = "ssh-keygen -Y verify -n unpooled -f ALLOWED -I WHO -s SHA256SUMS.sig < SHA256SUMS"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--key", type=Path, help="a private key of ssh-keygen, to sign the digests with")
    parser.add_argument("--out", type=Path, help="an empty folder, or one that is not there yet")
    asked = parser.parse_args()
    version = _version()
    notes, commit = _notes(version), _commit()
    out: Path = asked.out or ROOT / "dist" / f"release-{version}"
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        sys.exit(f"{out} is not empty. Remove it, or name another folder by --out.")
    build(out, *DISTRIBUTIONS)
    source = (f"--prefix=unpooled-{version}/", "-o", out.resolve() / "source.tar.gz", commit)
    run("git", "-C", ROOT, "archive", "--format=tar.gz", *source)
    run(ROOT / "scripts" / "supply-chain", "sbom")
    (ROOT / "dist" / "sbom").rename(out / "sbom")
    (out / "NOTES.md").write_text(f"{notes}\nMade from the commit {commit}.\n", encoding="utf-8")
    digests = out / "SHA256SUMS"
    digests.write_text(sums(out), encoding="utf-8")
    if asked.key:
        run(*(word.replace("KEY", str(asked.key)) for word in SIGN.format(digests).split()))
    else:
        print(f"Not signed, for no --key is named. To sign: {SIGN.format(digests)}. To verify: {VERIFY}")
    print(f"{out} ({size(out)})")


def _version() -> str:
    """Return the version that all distributions have."""
    found = {
        tomllib.loads((ROOT / name / "pyproject.toml").read_text())["project"]["version"]
        for name in DISTRIBUTIONS
    }
    if len(found) != 1:
        sys.exit(f"The distributions have the versions {', '.join(sorted(found))}. Give all the same one.")
    return str(found.pop())


def _notes(version: str) -> str:
    """Return what docs/releases.md says of a version."""
    text = (ROOT / "docs" / "releases.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(version)}\n.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if not found:
        sys.exit(f"docs/releases.md has no part `## {version}`. Write what is new, and what operators do.")
    return found[0]


def _commit() -> str:
    """Return the commit that is checked out; nothing else may be in the tree, for wheels are made of that."""
    if _said("git", "-C", ROOT, "status", "--porcelain"):
        sys.exit("There are changes that no commit has. Commit them, or put them aside.")
    return _said("git", "-C", ROOT, "rev-parse", "HEAD")


def _said(*command: object) -> str:
    done = subprocess.run([*map(str, command)], check=True, capture_output=True, text=True)  # noqa: S603
    return done.stdout.strip()


if __name__ == "__main__":
    main()
