"""What a shell completes: asked of a real bash, and of the program as the other shells ask it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# compopt, which says "file names, please", only works while bash itself completes.
ASK = r"""
source /dev/stdin <<< "$(unpooled-client completion bash)"
compopt() { echo "$2"; }
ask() {
    COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMPREPLY=()
    echo "> $*"
    _unpooled_client_completion unpooled-client
    printf '%s\n' "${COMPREPLY[@]}"
}
"""
WANTED = {
    "unpooled-client do": {"doctor"},
    "unpooled-client check --phen": {"--pheno", "--pheno-name"},
    "unpooled-client run inv": {"default"},
    "unpooled-client join --state x": {"dirnames"},
}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """With a path on which the program lies."""
    program = tmp_path / "unpooled-client"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m unpooled_client "$@"\n')
    program.chmod(0o755)
    return os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.skipif(shutil.which("bash") is None or os.name == "nt", reason="needs bash")
def test_bash_completes_commands_options_and_names_of_files(environment: dict[str, str]) -> None:
    script = ASK + "\n".join(f"ask {words}" for words in WANTED)
    command = ["bash", "--norc", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    answers = [answer.split("\n") for answer in done.stdout.removeprefix("> ").split("\n> ")]
    found = {words: {line for line in lines if line} for words, *lines in answers}
    found = {words: lines - {"x", "inv"} for words, lines in found.items()}  # what was typed
    assert found == WANTED, done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_first_line_says_how_to_install_it(shell: str) -> None:
    command = [sys.executable, "-m", "unpooled_client", "completion", shell]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, *script = done.stdout.splitlines()
    assert first.startswith("# ") and f"unpooled-client completion {shell}" in first
    assert any("_UNPOOLED_CLIENT_COMPLETE" in line for line in script)


def test_names_of_commands_are_completed_without_loading_them() -> None:
    asked = {"_UNPOOLED_CLIENT_COMPLETE": "zsh_complete", "COMP_WORDS": "unpooled-client ", "COMP_CWORD": "1"}
    code = (
        "import sys\nfrom unpooled_client.commands.cli import main\n"
        "try: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | asked)
    assert "Check data files offline" in done.stdout
    assert not set(done.stderr.split()) & {"numpy", "httpx", "rich", "cryptography"}
