"""Names of files: what every system takes for the name of a file, and of nothing else."""

from __future__ import annotations

import re
import unicodedata

LONGEST_STEM = 60
"""Characters that the names of all files of a study may have in common."""

_NAME = re.compile(r"\w[\w.+-]{0,239}")
_STEM = re.compile(rf"\w[\w.-]{{0,{LONGEST_STEM - 1}}}", re.ASCII)
LONGEST_PART = 40
_PART = re.compile(rf"[\w+-]{{1,{LONGEST_PART}}}", re.ASCII)
# Names that Windows keeps for itself.
_RESERVED = re.compile(r"(con|prn|aux|nul|(com|lpt)[\d¹²³])(\..*)?", re.IGNORECASE)
_FALLBACK = "study"


def is_plain(name: str) -> bool:
    """Tell whether every operating system accepts it as the name of a file."""
    return bool(_NAME.fullmatch(name)) and not name.endswith(".") and not _RESERVED.fullmatch(name)


def is_stem(text: str) -> bool:
    """Tell whether names of files may begin with it, before a dot."""
    return bool(_STEM.fullmatch(text)) and is_plain(text)


def is_part(text: str) -> bool:
    """Tell whether a text can stand between dots in the names of files."""
    return bool(_PART.fullmatch(text))


def stem_of(title: str) -> str:
    """Derive a stem for the names of files from a title: `asthma-in-adults`."""
    plain = unicodedata.normalize("NFKD", title.casefold()).encode("ascii", "ignore").decode()
    words = re.sub(r"[^\w.]+", "-", plain, flags=re.ASCII)
    stem = words.strip(".-")[:LONGEST_STEM].rstrip(".-")
    if not stem:
        return _FALLBACK
    return stem if is_stem(stem) else f"{_FALLBACK}-{stem}"[:LONGEST_STEM].rstrip(".-")
