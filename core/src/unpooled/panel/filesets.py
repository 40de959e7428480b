"""The files of genotypes that can be given: PLINK's three, by their endings, or one that is copied first."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fileset:
    """Three files of genotypes whose names begin alike."""

    option: str
    """Option that gives the common part of their names."""
    genotypes: str
    variants: str
    samples: str

    @property
    def kinds(self) -> tuple[str, str, str]:
        """Their endings, without the dot."""
        return self.genotypes, self.variants, self.samples


@dataclass(frozen=True)
class Copied:
    """One file of genotypes, of which a copy is made as .pgen, .pvar and .psam, and read."""

    option: str
    """Option that gives the file."""
    name: str
    """Name of the format, for people."""
    endings: tuple[str, ...]


OF_BFILE, OF_PFILE = Fileset("bfile", "bed", "bim", "fam"), Fileset("pfile", "pgen", "pvar", "psam")
"""Filesets as PLINK 1 and as PLINK 2 write them."""
FILESETS = (OF_BFILE, OF_PFILE)
OF_VCF, OF_BGEN = Copied("vcf", "VCF", (".vcf", ".vcf.gz", ".bcf")), Copied("bgen", "BGEN", (".bgen",))
COPIED = (OF_VCF, OF_BGEN)
DOSAGE_FIELDS = ("HDS", "DS", "GP", "GT")
"""The fields of a VCF that dosages can be taken from, the best first."""
GENOTYPES = tuple(each.option for each in (*FILESETS, *COPIED))
"""All options that give a cohort's genotypes by one path."""
