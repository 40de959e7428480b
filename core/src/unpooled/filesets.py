"""The three files of genotypes that PLINK writes, by their endings."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fileset:
    """Three files of genotypes whose names begin alike."""

    option: str
    """That gives what their names have in common."""
    genotypes: str
    variants: str
    samples: str

    @property
    def kinds(self) -> tuple[str, str, str]:
        """Their endings, without the dot."""
        return self.genotypes, self.variants, self.samples


OF_BFILE, OF_PFILE = Fileset("bfile", "bed", "bim", "fam"), Fileset("pfile", "pgen", "pvar", "psam")
"""As PLINK 1 and as PLINK 2 writes them."""
FILESETS = (OF_BFILE, OF_PFILE)
