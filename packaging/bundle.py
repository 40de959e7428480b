"""Makes a folder from which the client is installed on a computer that reaches no package index.

    python packaging/bundle.py [--for this|windows|mac|linux] [--python 3.12] [--without-window]

It holds the wheels of the client and of all that it needs, as constraints/ has them, requirements with their
hashes, which pip compares when it installs them, and a README with the command.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from wheels import ROOT, build, locked, pip, sha256, size, sums

# By pip's names. Linux: with the C library of RHEL 8 or a later one; Qt wants that of RHEL 9.
PLATFORMS = {
    "this": [],
    "windows": ["win_amd64"],
    "mac": ["macosx_14_0_arm64"],
    "linux": [f"manylinux_2_{minor}_x86_64" for minor in range(28, 16, -1)] + ["manylinux2014_x86_64"],
}
QT = {"linux": [f"manylinux_2_{minor}_x86_64" for minor in range(34, 28, -1)]}

# Where there are wheels of what reads imputed data.
IMPUTED = ("linux", "mac")

HERE = {"win32": "windows", "darwin": "mac"}.get(sys.platform, "linux")

# How Python is called, where it puts programs, and how the digests are compared.
TYPED = {
    "windows": (
        "py -{}",
        "unpooled\\Scripts\\",
        "certutil -hashfile FILE SHA256, and compare with SHA256SUMS",
    ),
    "mac": ("python{}", "unpooled/bin/", "shasum -a 256 --check SHA256SUMS"),
    "linux": ("python{}", "unpooled/bin/", "sha256sum --check SHA256SUMS"),
}

INSTALL = "--no-index --find-links . --require-hashes -r requirements.txt"

README = """\
The Unpooled client, with all that it needs. Nothing is downloaded. For Python {python} ({system}).

Install, in this folder, into an environment of its own; no administrator's rights are needed, and pip refuses
a file that is not the one that was packed:

    {create}
    {install}

Try it:

    {tries}

To see that the files are those that were packed:

    {verify}
"""


def main() -> None:
    asked = _arguments()
    out: Path = asked.out or ROOT / "dist" / f"unpooled-client-{asked.platform}-python{asked.python}"
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        sys.exit(f"{out} is not empty. Remove it, or name another folder by --out.")
    tags = PLATFORMS[asked.platform] + (QT.get(asked.platform, []) if asked.window else [])
    _download(_locks(asked), tags, asked.python, out)
    build(out, "core", "client")
    _write(out / "requirements.txt", "".join(map(_requirement, sorted(out.glob("*.whl")))))
    _write(out / "README.txt", _readme(asked))
    _write(out / "SHA256SUMS", sums(out))
    print(f"{out} ({size(out)})")


def _arguments() -> argparse.Namespace:
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--for", dest="platform", choices=PLATFORMS, default="this", help="its system")
    parser.add_argument("--python", default=here, help="its version of Python, such as 3.12")
    parser.add_argument("--without-window", dest="window", action="store_false", help="the command line only")
    parser.add_argument("--out", type=Path, help="an empty folder, or one that is not there yet")
    asked = parser.parse_args()
    if asked.platform == "this" and asked.python != here:
        parser.error(f"this Python is {here}: name the system too, e.g. --for linux --python {asked.python}")
    return asked


def _system(asked: argparse.Namespace) -> str:
    return HERE if asked.platform == "this" else str(asked.platform)


def _locks(asked: argparse.Namespace) -> list[str]:
    """Name the files of constraints/ that list what the bundle is to hold."""
    return ["window" if asked.window else "client", *["imputed"] * (_system(asked) in IMPUTED)]


def _download(locks: list[str], tags: list[str], python: str, out: Path) -> None:
    platforms = [word for tag in tags for word in ("--platform", tag)]
    target = [*platforms, "--python-version", python] if tags else []
    pip("download", *locked(*locks), *target, "--dest", out)


def _requirement(wheel: Path) -> str:
    name, version, *_ = wheel.name.split("-")
    return f"{name}=={version} --hash=sha256:{sha256(wheel)}\n"


def _readme(asked: argparse.Namespace) -> str:
    system = _system(asked)
    python, folder, verify = TYPED[system]
    tries = ["--version", "check --bfile PREFIX-OF-YOUR-FILES"] + ["window"] * asked.window
    return README.format(
        python=asked.python,
        system=system,
        create=f"{python.format(asked.python)} -m venv unpooled",
        install=f"{folder}python -m pip install {INSTALL}",
        tries="\n    ".join(f"{folder}unpooled-client {words}" for words in tries),
        verify=verify,
    )


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
