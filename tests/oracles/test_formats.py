"""Cohorts with files of PLINK 2 and of PLINK 1 in one study: the bytes are those of PLINK 1's files alone."""

from __future__ import annotations

import shutil
from pathlib import Path

from ..conftest import Rehearse
from ..plinks import plink, plink2, split

MICE = ("--chr-set", 19, "--allow-no-sex", "--nonfounders", "--min-samples", 20, "--min-per-class", 1)
FILES = ("assoc", "frq", "lmiss", "hwe")


def test_pgen_vcf_and_bgen_among_beds_give_the_same_bytes(
    few: Path, rehearse: Rehearse, tmp_path: Path
) -> None:
    bed, in_pgen, in_vcf, in_bgen = split(few, (4, 3, 3, 3), tmp_path, "--chr-set", "19")
    # Other names, so that nothing can be read from the .bed by mistake.
    pgen, vcf, bgen = tmp_path / "p", tmp_path / "v.vcf.gz", tmp_path / "g.bgen"
    exported = ("--chr-set", 19, "--export")
    plink2("--bfile", in_pgen, "--chr-set", 19, "--make-pgen", "--out", pgen)
    plink2("--bfile", in_vcf, *exported, "vcf", "bgz", "id-paste=iid", "--out", tmp_path / "v")
    plink2("--bfile", in_bgen, *exported, "bgen-1.2", "bits=8", "ref-first", "--out", tmp_path / "g")
    plink(
        "--bfile", few, *MICE[:4], "--assoc", "--freq", "--missing", "--hardy", "--out", tmp_path / "pooled"
    )
    genotypes = ("--bfile", bed, "--pfile", pgen, "--vcf", vcf, "--bgen", bgen)
    people = ("--sample", tmp_path / "g.sample", "--psam", f"{in_vcf}.fam", "--psam", f"{in_bgen}.fam")
    rehearse(*genotypes, *people, *MICE, "--copies", tmp_path / "copies", "--out", tmp_path / "ours")
    for file in FILES:
        ours, pooled = (Path(f"{tmp_path}/{name}.{file}").read_bytes() for name in ("ours", "pooled"))
        assert ours == pooled, file


def test_dosages_of_vcf_and_bgen_give_the_bytes_of_the_pgen_that_plink2_makes(
    rehearse: Rehearse, tmp_path: Path
) -> None:
    """Imputed genotypes, of which plink2 makes a call within 0.1 of a whole number of copies."""
    pgens: list[object] = []
    files: list[object] = []
    for seed in (1, 2, 3):
        made, prefix = tmp_path / f"made{seed}", tmp_path / f"c{seed}"
        plink2("--dummy", 80, 150, 0.02, "dosage-freq=0.5", "--seed", seed, "--out", made)
        if seed < 3:
            plink2("--pfile", made, "--export", "vcf", "bgz", "vcf-dosage=DS", "--out", prefix)
            plink2("--vcf", f"{prefix}.vcf.gz", "dosage=DS", "--make-pgen", "--out", prefix)
            files += ["--vcf", f"{prefix}.vcf.gz"]
        else:
            plink2("--pfile", made, "--export", "bgen-1.3", "bits=8", "ref-first", "--out", prefix)
            given = ("--bgen", f"{prefix}.bgen", "ref-first", "--sample", f"{prefix}.sample")
            plink2(*given, "--make-pgen", "--out", prefix)
            files += ["--bgen", f"{prefix}.bgen", "--sample", f"{prefix}.sample"]
        files += ["--psam", shutil.copy(f"{made}.psam", f"{prefix}.psam")]
        pgens += ["--pfile", prefix]
    floors = ("--min-samples", 20, "--min-per-class", 1)
    rehearse(*pgens, *floors, "--out", tmp_path / "pgens")
    rehearse(*files, *floors, "--copies", tmp_path / "copies", "--out", tmp_path / "files")
    for file in FILES:
        ours, wanted = (Path(f"{tmp_path}/{name}.{file}").read_bytes() for name in ("files", "pgens"))
        assert ours == wanted, file
    missing = [int(line.split()[2]) for line in Path(f"{tmp_path}/files.lmiss").read_text().splitlines()[1:]]
    assert min(missing) > 60  # of 240 people half have a dosage, of which a fifth is near a whole number


def test_rehearsal_wants_all_three_files(few: Path, rehearse: Rehearse, tmp_path: Path) -> None:
    shutil.copy(f"{few}.bed", tmp_path / "x.pgen")
    done = rehearse("--pfile", tmp_path / "x", "--out", tmp_path / "ours", check=False)
    assert done.returncode == 2
    assert "x.pvar" in done.stderr and "x.psam" in done.stderr
