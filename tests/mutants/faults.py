"""The faults in `faults.txt`. A paragraph is one:

what it breaks
the file
pytest's flags if it needs any, and the test that fails then
- what stands in the file, once, without the spaces before it and behind it
+ what stands there with the fault
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADING = "#"


@dataclass(frozen=True)
class Fault:
    breaks: str
    file: Path
    flags: tuple[str, ...]
    test: str
    old: str
    new: str

    @classmethod
    def read(cls, paragraph: str) -> Fault:
        breaks, file, asked, *change = paragraph.splitlines()
        *flags, test = asked.split()
        old, new = ("\n".join(line[2:] for line in change if line[0] == sign) for sign in "-+")
        return cls(breaks, Path(file), tuple(flags), test, old, new)

    def text(self) -> str:
        """The file with the fault in it."""
        text = (ROOT / self.file).read_text(encoding="utf-8")
        assert text.count(self.old) == 1, f"stands there {text.count(self.old)} times: {self.old}"
        return text.replace(self.old, self.new)


def faults() -> list[Fault]:
    text = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
    return [Fault.read(each) for each in text.strip().split("\n\n") if not each.startswith(HEADING)]
