"""Each finding of the check, from a file that has the fault."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unpooled_client.data.cohort import open_cohort
from unpooled_client.data.column_examples import columns_of
from unpooled_client.data.findings.report import Code, Finding, Report, Severity
from unpooled_client.data.options import Covariate, DataOptions
from unpooled_client.data.samples.numbers import mean
from unpooled_client.data.show import in_words, plain_lines

N = 60
FAM = [f"F{k} I{k} 0 0 {1 + k % 2} {1 + k // 30}" for k in range(N)]
BIM = ["1 rs1 0 100 A G", "1 rs2 0 200 C T", "2 rs3 0 50 A C"]
PHENO = ["FID IID trait other", *(f"F{k} I{k} {1 + k % 2} {k}.5" for k in range(N))]
COVAR = ["FID IID age site", *(f"F{k} I{k} {k} {'ab'[k % 2]}" for k in range(N))]
SITE = (Covariate("site", ("a", "b")),)
P, C = {"pheno": "p"}, {"covar": "c"}
E, W, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE


def text(lines: list[str], changes: dict[int, str] | None = None) -> str:
    """The lines as a file; `changes` maps line numbers, from 1, to what stands there instead."""
    return "".join((changes or {}).get(k, line) + "\n" for k, line in enumerate(lines, 1))


def pheno(values: list[str]) -> str:
    return text([f"F{k} I{k} {values[k % len(values)]}" for k in range(N)])


@dataclass
class Fault:
    """A spoiled cohort, and what the check must say of it."""

    code: Code
    severity: Severity
    file: str | None = None
    line: int | None = None
    column: int | None = None
    read: str | None = None
    count: int = 1
    says: str = ""
    """Words that the message or the remedy must have."""
    files: dict[str, str | bytes | None] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)


# One fault in one or two lines, to be read as a table.
# fmt: off
FAULTS = {
    # files
    "no fam": Fault(Code.FILE_MISSING, E, "t.fam", says="t.bed and t.bim are here", files={"t.fam": None}),
    "no bim": Fault(Code.FILE_MISSING, E, "t.bim", says="(--bim)", files={"t.bim": None}),
    "no bed": Fault(Code.FILE_MISSING, E, "t.bed", says="Copy t.bed to them", files={"t.bed": None}),
    "folder": Fault(Code.FILE_MISSING, E, "", says="is a folder", options={"pheno": "."}),
    "no keep": Fault(Code.FILE_MISSING, E, "gone", options={"keep": "gone"}),
    "no bfile": Fault(Code.OPTION, E, says="--bfile", options={"bfile": None}),
    "empty bim": Fault(Code.FILE_EMPTY, E, "t.bim", files={"t.bim": ""}),
    "blank bim": Fault(Code.FILE_EMPTY, E, "t.bim", files={"t.bim": "\n \n"}),
    "blank fam": Fault(Code.FILE_EMPTY, E, "t.fam", files={"t.fam": "# nobody\n"}),
    "gz bim": Fault(Code.FILE_COMPRESSED, E, "t.bim", says="gunzip", files={"t.bim": gzip.compress(b"1")}),
    "gz bed": Fault(Code.FILE_COMPRESSED, E, "t.bed", says="gunzip", files={"t.bed": gzip.compress(b"1")}),
    "xlsx": Fault(Code.FILE_NOT_TEXT, E, "p", says="spreadsheet", files={"p": b"PK\3\4x"}, options=P),
    "utf-16": Fault(Code.FILE_NOT_TEXT, E, "p", says="UTF-8", files={"p": text(PHENO).encode("utf-16")},
        options=P),
    "bed as pheno": Fault(Code.FILE_NOT_TEXT, E, "t.bed", options={"pheno": "t.bed"}),
    "zeros": Fault(Code.FILE_NOT_TEXT, E, "p", files={"p": b"F1 I1\0 1\n"}, options=P),
    "byte order mark": Fault(Code.BYTE_ORDER_MARK, W, "p", 1, 1, files={"p": "\ufeff" + text(PHENO)},
        options=P),
    "only a mark": Fault(Code.FILE_EMPTY, E, "t.bim", files={"t.bim": "\ufeff"}),
    "mark in bim": Fault(Code.BYTE_ORDER_MARK, W, "t.bim", 1, 1, files={"t.bim": "\ufeff" + text(BIM)}),
    "crlf": Fault(Code.WINDOWS_LINE_ENDS, NOTE, "t.fam", files={"t.fam": text(FAM).replace("\n", "\r\n")}),
    "cr": Fault(Code.OLD_LINE_ENDS, E, "t.fam", 1, files={"t.fam": text(FAM).replace("\n", "\r")}),
    "one cr": Fault(Code.OLD_LINE_ENDS, E, "t.fam", 2, 7,
        files={"t.fam": text(FAM, {2: "F1 I1 0 0 1 1\rF1 I1 0 0 1 1"})}),
    "control": Fault(Code.FILE_NOT_TEXT, E, "t.bim", 2, 5, "\\x01",
        files={"t.bim": text(BIM, {2: "1 a 0 2 \1A C"})}),
    "no line end": Fault(Code.LAST_LINE, NOTE, "p", says="cut off", files={"p": text(PHENO)[:-1]}, options=P),
    "two lines in one": Fault(Code.TOO_MANY_COLUMNS, E, "t.fam", 2, 7,
        files={"t.fam": text(FAM, {2: "F1 I1 0 0 1 1 F1 I1 0 0 1 1"})}),
    "long bim": Fault(Code.TOO_MANY_COLUMNS, E, "t.bim", 2, 7,
        files={"t.bim": text(BIM, {2: "1 a 0 2 A C G"})}),
    "late comment": Fault(Code.HEADER_LINE, E, "t.fam", 2, files={"t.fam": text(FAM, {2: "#1 I1 0 0 1 1"})}),
    "empty cell and a blank": Fault(Code.TOO_MANY_COLUMNS, E, "p", 2, 5,
        files={"p": "FID\tIID\ty\tage\nF0\tI0\t\t6 2\n"}, options=P),
    "no name": Fault(Code.HEADER, E, "p", 1, 3, files={"p": "FID\tIID\t\tage\nF0\tI0\t1\t62\n"}, options=P),
    "commas": Fault(Code.TOO_FEW_COLUMNS, E, "t.fam", 1, 2, count=N, says="tab",
        files={"t.fam": text(FAM).replace(" ", ",")}),
    "empty field": Fault(Code.TOO_FEW_COLUMNS, E, "t.fam", 7, 6, says="NA",
        files={"t.fam": text(FAM, {7: "F6\tI6\t\t0\t1\t1"})}),
    "short bim": Fault(Code.TOO_FEW_COLUMNS, E, "t.bim", 2, 6, files={"t.bim": text(BIM, {2: "1 a 2 A C"})}),
    "short pheno": Fault(Code.TOO_FEW_COLUMNS, E, "p", 3, 3, files={"p": text(PHENO, {3: "F1 I1"})},
        options=P),
    "short covar": Fault(Code.TOO_FEW_COLUMNS, E, "c", 3, 4, files={"c": text(COVAR, {3: "F1 I1 5"})},
        options={"covar": "c", "covariates": SITE}),
    "long covar": Fault(Code.TOO_MANY_COLUMNS, E, "c", 3, 5, files={"c": text(COVAR, {3: "F1 I1 5 a b"})},
        options={"covar": "c", "covariates": SITE}),
    "shorter than the header": Fault(Code.TOO_FEW_COLUMNS, E, "p", 3, 4, says="NA",
        files={"p": text(["FID IID y age", "F0 I0 1 30", "F1 I1  31"])}, options=P),
    "empty cell": Fault(Code.CELL_EMPTY, W, "p", 3, says="PLINK takes the value of the next column",
        files={"p": text(PHENO).replace(" ", "\t").replace("F1\tI1\t2", "F1\tI1\t")}, options=P),
    "short keep": Fault(Code.TOO_FEW_COLUMNS, E, "k", 2, 2, files={"k": "F1 I1\nF2\n"},
        options={"keep": "k"}),
    "fam header": Fault(Code.HEADER_LINE, E, "t.fam", 1,
        files={"t.fam": text(["FID IID PAT MAT SEX PHENO", *FAM]), "t.bed": b"\x6c\x1b\x01" + bytes(45)}),
    # samples
    "zero iid": Fault(Code.SAMPLE_ID, E, "t.fam", 3, 2, "0", files={"t.fam": text(FAM, {3: "F2 0 0 0 1 1"})}),
    "quotes": Fault(Code.SAMPLE_ID_ODD, W, "t.fam", 2, 2, '"I1"',
        files={"t.fam": text(FAM, {2: 'F1 "I1" 0 0 1 1'})}),
    "umlaut": Fault(Code.SAMPLE_ID_ODD, W, "t.fam", 2, 1, "é",
        files={"t.fam": text(FAM, {2: "é I1 0 0 1 1"})}),
    "latin-1": Fault(Code.SAMPLE_ID_ODD, W, "t.fam", 2, 1, "\\xe9",
        files={"t.fam": text(FAM, {2: "é I1 0 0 1 1"}).encode("latin-1")}),
    "twin": Fault(Code.SAMPLE_DUPLICATE, W, "t.fam", 2, 1, "F0 I0",
        files={"t.fam": text(FAM, {2: "F0 I0 0 0 1 1"})}),
    "twin with pheno": Fault(Code.SAMPLE_DUPLICATE, E, "t.fam", 2, 1, "F0 I0",
        files={"t.fam": text(FAM, {2: "F0 I0 0 0 1 1"}), "p": text(PHENO)}, options=P),
    "no sex": Fault(Code.SEX_UNKNOWN, W, "t.fam", 2, 5, "M", count=2, says="--allow-no-sex",
        files={"t.fam": text(FAM, {2: "F1 I1 0 0 M 1", 9: "F8 I8 0 0 0 1"})}),
    "no sex allowed": Fault(Code.SEX_UNKNOWN, NOTE, "t.fam", 2, 5, "0",
        files={"t.fam": text(FAM, {2: "F1 I1 0 0 0 1"})}, options={"allow_no_sex": True}),
    "no founders": Fault(Code.NO_FOUNDERS, W, "t.fam", files={"t.fam": text(FAM).replace(" 0 0 ", " p 0 ")}),
    # variants
    "contig": Fault(Code.CHROMOSOME, W, "t.bim", 3, 1, "GL000194.1",
        files={"t.bim": text(BIM, {3: "GL000194.1 r 0 5 A C"})}),
    "mouse 24": Fault(Code.CHROMOSOME, W, "t.bim", 3, 1, "24", says="--chr-set",
        files={"t.bim": text(BIM, {3: "24 r 0 5 A C"})}, options={"chr_set": 19}),
    "position": Fault(Code.POSITION, E, "t.bim", 2, 4, "1e6",
        files={"t.bim": text(BIM, {2: "1 r 0 1e6 A C"})}),
    "far": Fault(Code.POSITION, E, "t.bim", 2, 4, "2147483647",
        files={"t.bim": text(BIM, {2: "1 r 0 2147483647 A C"})}),
    "negative": Fault(Code.POSITION_NEGATIVE, NOTE, "t.bim", 2, 4,
        files={"t.bim": text(BIM, {2: "1 r 0 -9 A C"})}),
    "comma": Fault(Code.ALLELE, E, "t.bim", 2, 6, "C,T", files={"t.bim": text(BIM, {2: "1 r 0 5 A C,T"})}),
    "A/A": Fault(Code.ALLELES_EQUAL, W, "t.bim", 2, 2, "r", files={"t.bim": text(BIM, {2: "1 r 0 5 A A"})}),
    "unnamed": Fault(Code.VARIANT_UNNAMED, W, "t.bim", 2, 2, ".",
        files={"t.bim": text(BIM, {2: "1 . 0 5 A C"})}),
    "duplicate": Fault(Code.VARIANT_DUPLICATE, W, "t.bim", 1, 2, "rs1", count=2,
        files={"t.bim": text(BIM, {2: "1 rs1 0 5 A C"})}),
    "twins": Fault(Code.VARIANT_TWIN, NOTE, "t.bim", 3, 2, "c", count=2,
        files={"t.bim": "1 a 0 100 A G\n1 b 0 100 A T\n1 c 0 100 G A\n1 d 0 100 A G\n2 b2 0 100 A G\n"}),
    "odd variant": Fault(Code.VARIANT_ID_ODD, W, "t.bim", 2, 2, "é",
        files={"t.bim": text(BIM, {2: "1 é 0 5 A C"})}),
    "long ID": Fault(Code.VARIANT_ID_LONG, W, "t.bim", 2, 2, "r" * 39 + "…", says="more than 100 letters",
        files={"t.bim": text(BIM, {2: f"1 {'r' * 101} 0 5 A C"})}),
    "numbers for bases": Fault(Code.ALLELE_CODES, W, "t.bim", 2, read="1 2", count=2, says="--alleleACGT",
        files={"t.bim": text(BIM, {2: "1 r 0 150 1 2", 3: "2 s 0 5 4 A"})}),
    "I and D": Fault(Code.ALLELE_CODES, W, "t.bim", 2, read="I D", says="inserted",
        files={"t.bim": text(BIM, {2: "1 r 0 150 I D"})}),
    "A and B": Fault(Code.ALLELE_CODES, W, "t.bim", 2, read="A B", says="manifest",
        files={"t.bim": text(BIM, {2: "1 r 0 150 A B"})}),
    "small letters": Fault(Code.ALLELE_CODES, NOTE, "t.bim", 2, 5, "a", count=2, says="capitals",
        files={"t.bim": text(BIM, {2: "1 r 0 150 a g", 3: "2 s 0 5 A cta"})}),
    "contigs only": Fault(Code.NO_VARIANT_LEFT, E, "t.bim", says="--chr-set",
        files={"t.bim": "27 a 0 1 A G\nchrUn b 0 2 A G\n1 c 0 -3 A G\n"}),
    "no base": Fault(Code.ALLELE_CODES, W, "t.bim", 2, read="A é", says="left out",
        files={"t.bim": text(BIM, {2: "1 r 0 150 A é"})}),
    "nobody varies": Fault(Code.ALLELES_UNSEEN, W, "t.bim", 1, read="0 G", count=2,
        files={"t.bim": text(BIM, {1: "1 rs1 0 100 0 G", 2: "1 rs2 0 200 0 T"})}),
    "no place": Fault(Code.NO_PLACE, W, "t.bim", 1, 4, "0:5", 2, says="--update-map",
        files={"t.bim": text(BIM, {1: "0 r 0 5 A C", 2: "1 s 0 0 A C"})}),
    "no position in five columns": Fault(Code.NO_PLACE, W, "t.bim", 1, 3, "1:0",
        files={"t.bim": "1 rs1 0 A G\n1 rs2 200 C T\n2 rs3 50 A C\n"}),
    "cM and position swapped": Fault(Code.NO_PLACE, E, "t.bim", 1, 4, "1:0", count=3, says="Swap them: awk",
        files={"t.bim": "1 rs1 100 0 A G\n1 rs2 200 0 C T\n2 rs3 50 0 A C\n"}),
    "no positions at all": Fault(Code.NO_PLACE, W, "t.bim", 1, 4, "1:0", count=3, says="--update-map",
        files={"t.bim": "1 rs1 0 0 A G\n1 rs2 0.0 0 C T\n2 rs3 0 0 A C\n"}),
    "beyond the end": Fault(Code.BEYOND_THE_END, W, "t.bim", 3, 4, "22:99999999",
        files={"t.bim": text(BIM, {3: "22 r 0 99999999 A C"})}),
    "no one build": Fault(Code.BEYOND_THE_END, W, "t.bim", 2, 4, "9:141000000",
        files={"t.bim": text(BIM, {2: "9 r 0 141000000 A C", 3: "17 s 0 83000000 A C"})}),
    "another build": Fault(Code.BUILD, W, "t.bim", 3, 4, "9:141000000", says="look like GRCh37",
        files={"t.bim": text(BIM, {3: "9 r 0 141000000 A C"})}, options={"build": "hg38"}),
    "X like Y": Fault(Code.PSEUDO_AUTOSOMAL, NOTE, "t.bim", 3, 4, "X:100000", says="--split-x b37",
        files={"t.bim": text(BIM, {3: "X r 0 100000 A C"})}, options={"build": "b37"}),
    "in disorder": Fault(Code.NOT_IN_ORDER, NOTE, "t.bim", 2, read="1:50",
        files={"t.bim": text(BIM, {2: "1 r 0 50 A C"})}),
    # genotypes
    "sample-major": Fault(Code.BED_SAMPLE_MAJOR, E, "t.bed", read="6c 1b 00",
        files={"t.bed": b"\x6c\x1b\x00" + bytes(45)}),
    "no magic": Fault(Code.BED_MAGIC, E, "t.bed", files={"t.bed": bytes(48)}),
    "pgen": Fault(Code.BED_MAGIC, E, "t.bed", says=".pgen", files={"t.bed": b"\x6c\x1b\x10" + bytes(45)}),
    "tiny": Fault(Code.BED_MAGIC, E, "t.bed", files={"t.bed": b"\x6c"}),
    "truncated": Fault(Code.BED_SIZE, E, "t.bed", read="46 bytes", says="cut off",
        files={"t.bed": b"\x6c\x1b\x01" + bytes(43)}),
    "one variant less": Fault(Code.BED_SIZE, E, "t.bed", says="60 samples and 2 variants",
        files={"t.bed": b"\x6c\x1b\x01" + bytes(30)}),
    "other samples": Fault(Code.BED_SIZE, E, "t.bed", says="61 to 64 samples",
        files={"t.bed": b"\x6c\x1b\x01" + bytes(48)}),
    "too long": Fault(Code.BED_SIZE, E, "t.bed", files={"t.bed": b"\x6c\x1b\x01" + bytes(46)}),
    "mixed up": Fault(Code.SEX_DOUBTFUL, W, "t.fam", 1, 5, "F0 I0 (man, 200%)", 2, says="--check-sex",
        files={"t.bim": "".join(f"X v{k} 0 {5_000_000 + k} A G\n" for k in range(100)),
               "t.bed": b"\x6c\x1b\x01" + (b"\xb2" + b"\xb8" * 14) * 100}),
    "failed sample": Fault(Code.CALLS_MISSING, W, "t.fam", 5, read="F4 I4", says="--remove",
        files={"t.bim": "".join(f"1 v{k} 0 {k + 1} A G\n" for k in range(200)),
               "t.bed": b"\x6c\x1b\x01" + (b"\xff\x01" + b"\xff" * 13) * 200}),
    # tables
    "lower-case header": Fault(Code.HEADER, W, "p", 1, 1, files={"p": text(PHENO, {1: "fid iid a b"})},
        options=P),
    "pheno-name without header": Fault(Code.HEADER, E, "p", 1, files={"p": text(PHENO[1:])},
        options={"pheno": "p", "pheno_name": "trait"}),
    "covar-name without header": Fault(Code.HEADER, E, "c", 1, files={"c": text(COVAR[1:])},
        options={"covar": "c", "covar_name": ("age",)}),
    "pheno-name": Fault(Code.COLUMN_UNKNOWN, E, "p", 1, read="trait, other", files={"p": text(PHENO)},
        options={"pheno": "p", "pheno_name": "Trait"}),
    "mpheno": Fault(Code.COLUMN_UNKNOWN, E, "p", 1, files={"p": text(PHENO)},
        options={"pheno": "p", "mpheno": 3}),
    "covar-name": Fault(Code.COLUMN_UNKNOWN, E, "c", 1, files={"c": text(COVAR)},
        options={"covar": "c", "covar_name": ("bmi",)}),
    "covar-number": Fault(Code.COLUMN_UNKNOWN, E, "c", 1, files={"c": text(COVAR)},
        options={"covar": "c", "covar_number": ("3",)}),
    "plan's covariate": Fault(Code.COLUMN_UNKNOWN, E, "c", 1, files={"c": text(COVAR)},
        options={"covar": "c", "from_plan": True, "covariates": (Covariate("pc1"),)}),
    "same names": Fault(Code.COLUMN_AMBIGUOUS, W, "p", 1, files={"p": text(PHENO, {1: "FID IID a a"})},
        options={"pheno": "p", "pheno_name": "a"}),
    "same covariates": Fault(Code.COLUMN_AMBIGUOUS, E, "c", 1, files={"c": text(COVAR, {1: "FID IID a a"})},
        options={"covar": "c", "covar_name": ("a",)}),
    "two rows": Fault(Code.ROW_DUPLICATE, E, "p", 3, 1, "F0 I0", files={"p": text(PHENO, {3: "F0 I0 2 1"})},
        options=P),
    "two covariate rows": Fault(Code.ROW_DUPLICATE, E, "c", 3, 1, files={"c": text(COVAR, {3: "F0 I0 0 a"})},
        options={"covar": "c", "covariates": SITE}),
    "strangers": Fault(Code.ROWS_UNMATCHED, NOTE, "p", 2, 1, "X Y", count=4,
        files={"p": text([PHENO[0], "X Y 1 1", "x y 1", "z z", "u v 1 1", *PHENO[1:]])}, options=P),
    "without row": Fault(Code.SAMPLES_UNMATCHED, W, "t.fam", 55, 1, "F54 I54", 6,
        files={"p": text(PHENO[:55])}, options=P),
    "swapped ids": Fault(Code.NOBODY_MATCHED, E, "p", 1, 1, count=N, says="swap",
        files={"p": text([f"I{k} F{k} 1" for k in range(N)])}, options=P),
    "zero family": Fault(Code.NOBODY_MATCHED, E, "p", 1, 1, count=N, says="IIDs match",
        files={"p": text([f"0 I{k} 1" for k in range(N)])}, options=P),
    "other case": Fault(Code.NOBODY_MATCHED, E, "p", 1, 1, count=N, says="lower case",
        files={"p": text([f"f{k} i{k} 1" for k in range(N)])}, options=P),
    "quoted ids": Fault(Code.NOBODY_MATCHED, E, "p", 1, 1, count=N, says="quotes",
        files={"p": text([f'"F{k}" "I{k}" 1' for k in range(N)])}, options=P),
    "joined ids": Fault(Code.NOBODY_MATCHED, E, "p", 1, 1, count=N, says="FID_IID",
        files={"p": text([f"F{k}_I{k} F{k}_I{k} 1" for k in range(N)])}, options=P),
    "no family": Fault(Code.NOBODY_MATCHED, E, "p", 1, 1, count=N, says="#IID",
        files={"p": text([f"I{k} 1" for k in range(N)])}, options=P),
    # phenotype
    "words": Fault(Code.PHENOTYPE_TEXT, E, "p", 2, 3, "case", 30, says="Write 2",
        files={"p": pheno(["1", "case"])}, options=P),
    "decimal comma": Fault(Code.PHENOTYPE_TEXT, E, "p", 2, 3, "1,5", 30, says="comma",
        files={"p": pheno(["1", "1,5"])}, options=P),
    "number with more": Fault(Code.PHENOTYPE_TEXT, E, "p", 2, 3, "2x", 30, files={"p": pheno(["1", "2x"])},
        options=P),
    "infinite": Fault(Code.PHENOTYPE_TEXT, E, "p", 2, 3, "inf", 30, files={"p": pheno(["1", "inf"])},
        options=P),
    "nan": Fault(Code.PHENOTYPE_NAN, W, "p", 3, 3, "nan", 20, files={"p": pheno(["1", "2", "nan"])},
        options={"pheno": "p", "min_samples": 40}),
    "0/1": Fault(Code.PHENOTYPE_CODING, E, "p", 1, 3, says="--1", files={"p": pheno(["0", "1"])}, options=P),
    "0/1 in one class": Fault(Code.PHENOTYPE_CODING, W, "p", 1, 3, files={"p": pheno(["0", "1"])},
        options={"pheno": "p", "one_class": True, "min_samples": 1}),
    "1/2 with --1": Fault(Code.PHENOTYPE_CODING, E, "p", 2, 3, "2", 30, says="leave --1 out",
        files={"p": pheno(["1", "2"])}, options={"pheno": "p", "one": True}),
    "1.0 in the fam": Fault(Code.PHENOTYPE_CODING, W, "t.fam", 1, 6, "1.0",
        files={"t.fam": text(FAM, {1: "F0 I0 0 0 1 1.0"})}),
    "not case/control": Fault(Code.PHENOTYPE_TRAIT, E, "p", 1, 3, "1.5", files={"p": pheno(["1.5", "2"])},
        options={"pheno": "p", "trait": "case/control"}),
    "not quantitative": Fault(Code.PHENOTYPE_TRAIT, W, "t.fam", column=6, options={"trait": "quantitative"}),
    "missing": Fault(Code.PHENOTYPE_MISSING, NOTE, count=20, files={"p": pheno(["1", "2", "NA"])},
        options={"pheno": "p", "min_samples": 40}),
    "nobody has one": Fault(Code.PHENOTYPE_MISSING, W, "p", says="Pruning", files={"p": pheno(["NA"])},
        options=P),
    "a phenotype is needed": Fault(Code.TOO_FEW_SAMPLES, E, read="0", files={"p": pheno(["NA"])},
        options={"pheno": "p", "test": "linear", "trait": "quantitative"}),
    "too few for pruning": Fault(Code.TOO_FEW_SAMPLES, E, read="49", says="are left",
        files={"k": text(FAM[:49]), "t.fam": text([f"{line[:-1]}-9" for line in FAM])},
        options={"keep": "k", "test": "prune"}),
    "constant": Fault(Code.PHENOTYPE_CONSTANT, W, read="3.5", files={"p": pheno(["3.5"])}, options=P),
    "a code": Fault(Code.MISSING_CODE, W, "p", 2, 3, "-99", 20, says="--missing-phenotype -99",
        files={"p": pheno(["12.5", "-99", "13.25"])}, options=P),
    "a code among cases": Fault(Code.MISSING_CODE, W, "p", 2, 3, "9", 20, says="--missing-phenotype 9",
        files={"p": pheno(["1", "9", "2"])}, options=P),
    "three classes": Fault(Code.PHENOTYPE_FEW_VALUES, W, "p", column=3, read="1, 2, 3", says="--1",
        files={"p": pheno(["1", "2", "3"])}, options=P),
    "unknown": Fault(Code.PHENOTYPE_TEXT, E, "p", 2, 3, "unknown", 30, says="looks like a code",
        files={"p": pheno(["1", "unknown"])}, options=P),
    "outlier": Fault(Code.OUTLIER, E, "p", read="-999999999", says="--missing-phenotype -999999999",
        files={"p": text([f"F{k} I{k} {k + 0.5 if k else -999999999}" for k in range(N)])}, options=P),
    # covariates
    "covariate beyond all others": Fault(Code.OUTLIER, E, "c", read="1e+300", says="or write NA",
        files={"c": text(COVAR, {4: "F2 I2 1e300 a"})}, options={"covar": "c", "covar_name": ("age",)}),
    "covariate with a code": Fault(Code.MISSING_CODE, W, "c", 2, 3, "999", says="--missing-phenotype 999",
        files={"c": text(COVAR, {2: "F0 I0 999 a"})}, options={"covar": "c", "covar_name": ("age",)}),
    "sites by number": Fault(Code.COVARIATE_FEW_VALUES, NOTE, "c", column=3, read="1,2,3",
        says="--categorical site=1,2,3",
        files={"c": text(["FID IID site", *(f"F{k} I{k} {1 + k % 3}" for k in range(N))])}, options=C),
    "rare level": Fault(Code.COVARIATE_SMALL_LEVEL, NOTE, "c", column=4, read="c: 1", says="refuses",
        files={"c": text(COVAR, {2: "F0 I0 0 c"})},
        options={"covar": "c", "covariates": (Covariate("site", ("a", "b", "c")),)}),
    "absent level": Fault(Code.COVARIATE_SMALL_LEVEL, NOTE, "c", column=4, read="c: 0",
        says="fewer than 3 cohorts", files={"c": text(COVAR)},
        options={"covar": "c", "covariates": (Covariate("site", ("a", "b", "c")),)}),
    "nearly all the same": Fault(Code.COVARIATE_SMALL_LEVEL, NOTE, "c", column=3, read="9 other than 0",
        says="differ from the others in twin",
        files={"c": text(["FID IID twin", *(f"F{k} I{k} {int(k < 9)}" for k in range(N))])}, options=C),
    "twice the same": Fault(Code.COVARIATE_COLLINEAR, W, "c", says="age and months determine one another",
        files={"c": text(["FID IID age months", *(f"F{k} I{k} {k} {12 * k}" for k in range(N))])}, options=C),
    "sites that are all": Fault(Code.COVARIATE_COLLINEAR, W, "c", says="tell cohorts apart",
        files={"c": text(["FID IID graz rest", *(f"F{k} I{k} {k % 2} {1 - k % 2}" for k in range(N))])},
        options=C),
    "sex as covariate": Fault(Code.COVARIATE_COLLINEAR, W, "c", says="every result there is NA",
        files={"c": text(["FID IID gender", *(f"F{k} I{k} {k % 2}" for k in range(N))]),
               "t.bim": text(BIM, {3: "X rs3 0 50 A C"})}, options=C),
    "phenotype as covariate": Fault(Code.COVARIATE_COLLINEAR, W, "c", says="the same as the phenotype",
        files={"c": text(["FID IID asthma", *(f"F{k} I{k} {k // 30}" for k in range(N))])}, options=C),
    "text": Fault(Code.COVARIATE_TEXT, E, "c", 2, 4, "a", N, says="--categorical site=a,b",
        files={"c": text(COVAR)}, options=C),
    "one word": Fault(Code.COVARIATE_TEXT, E, "c", 4, 3, "old", files={"c": text(COVAR, {4: "F2 I2 old a"})},
        options={"covar": "c", "covar_name": ("age",)}),
    "level": Fault(Code.COVARIATE_LEVEL, E, "c", 4, 4, "A", files={"c": text(COVAR, {4: "F2 I2 2 A"})},
        says="to add the level to the plan", options={"covar": "c", "covariates": SITE}),
    "same for all": Fault(Code.COVARIATE_CONSTANT, W, "c", column=3, read="7",
        files={"c": text(["FID IID age", *(f"F{k} I{k} 7" for k in range(N))])}, options=C),
    "another cohort": Fault(Code.COVARIATE_CONSTANT, W, "c", column=3, read="0",
        says="tell the server this cohort's allele frequencies",
        files={"c": text(["FID IID is_tartu", *(f"F{k} I{k} 0" for k in range(N))])}, options=C),
    "one level": Fault(Code.COVARIATE_CONSTANT, W, "c", column=3, read="a", says="fewer than 3 cohorts",
        files={"c": text(["FID IID site", *(f"F{k} I{k} a" for k in range(N))])},
        options={"covar": "c", "covariates": SITE}),
    "lacks covariate": Fault(Code.COVARIATE_MISSING, NOTE, "c", column=3, count=2,
        files={"c": text(COVAR, {4: "F2 I2 NA a", 5: "F3 I3 -9 a"})},
        options={"covar": "c", "covar_name": ("age",)}),
    "no values": Fault(Code.COVARIATE_EMPTY, E, "c", column=3,
        files={"c": text(["FID IID age", *(f"F{k} I{k} NA" for k in range(N))])}, options=C),
    # floors
    "nobody kept": Fault(Code.NOBODY_LEFT, E, files={"k": "X Y\n"}, options={"keep": "k"}),
    "all removed": Fault(Code.NOBODY_LEFT, E, files={"k": text(FAM)}, options={"remove": "k"}),
    "no women": Fault(Code.NO_SUCH_SEX, E, "t.fam", column=5, read="1", says="females only",
        files={"t.fam": text([line.replace(" 0 0 2 ", " 0 0 1 ") for line in FAM])},
        options={"sexes": "females"}),
    "no men after --keep": Fault(Code.NO_SUCH_SEX, E, "t.fam", column=5, read="2", says="males only",
        files={"k": text(FAM[1::2])}, options={"keep": "k", "sexes": "males"}),
    "no condition": Fault(Code.VARIANT_ABSENT, E, "t.bim", says="rs9, which is not among",
        options={"condition": ("rs1", "rs9")}),
    "a condition twice": Fault(Code.VARIANT_ABSENT, E, "t.bim", says="several have this ID",
        files={"t.bim": text([BIM[0], *(line.replace("rs3", "rs2") for line in BIM[1:])])},
        options={"condition": ("rs2",)}),
    "no variant kept": Fault(Code.NO_VARIANT_LEFT, E, files={"k": "rs9"}, options={"extract": "k"}),
    "one variant kept": Fault(Code.VARIANT_NOT_CHOSEN, NOTE, count=2,
        files={"k": "rs9 rs1\nrs3", "x": "rs3 rs3"}, options={"extract": "k", "exclude": "x"}),
    "chromosome kept": Fault(Code.VARIANT_NOT_CHOSEN, NOTE, count=2, options={"chromosomes": ("2-5", "X")}),
    "49 samples": Fault(Code.TOO_FEW_SAMPLES, E, read="49", files={"k": text(FAM[:49])},
        options={"keep": "k"}),
    "higher floor": Fault(Code.TOO_FEW_SAMPLES, E, read="60", options={"min_samples": 61}),
    "9 cases": Fault(Code.TOO_FEW_CASES, E, read="9", files={"p": pheno(["2"] * 9 + ["1"] * 51)}, options=P),
    "9 controls": Fault(Code.TOO_FEW_CONTROLS, E, read="9", files={"p": pheno(["1"] * 9 + ["2"] * 51)},
        options={"pheno": "p", "one_class": True}),
    "no controls": Fault(Code.TOO_FEW_CONTROLS, E, read="0", says="--one-class", files={"p": pheno(["2"])},
        options=P),
}
# fmt: on


def found(files: Any, fault: Fault) -> list[Finding]:
    for name, content in fault.files.items():
        path = files.folder / name
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
    if "t.bed" not in fault.files and not {"t.fam", "t.bim"}.isdisjoint(fault.files):
        spoiled = {name: (files.folder / name) for name in ("t.fam", "t.bim")}
        if all(path.exists() for path in spoiled.values()):
            files.write(**{name[2:]: path.read_bytes() for name, path in spoiled.items()})
    options = dict(fault.options)
    if options.pop("bfile", "t") is None:
        options["bfile"] = None
    return files.check(**options).findings  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_where_it_is(files: Any, name: str) -> None:
    fault = FAULTS[name]
    findings = found(files, fault)
    about = [f for f in findings if (f.code, f.severity) == (fault.code, fault.severity)]
    assert len(about) == 1, findings
    finding = about[0]
    if fault.file is not None:
        assert finding.file == files.folder / fault.file
    for what in ("line", "column", "read"):
        if getattr(fault, what) is not None:
            assert getattr(finding, what) == getattr(fault, what)
    assert finding.count == fault.count
    assert fault.says in f"{finding.message} {finding.remedy}"
    assert finding.remedy or finding.severity == NOTE
    # One fault is one error, not a cascade.
    assert [f for f in findings if f.severity == E and f is not finding] == []


OF_TABLES = {
    Code.CSV,
    Code.CELL_OF_LINES,
    Code.PARQUET,
    Code.COLUMN_MISSING,
    Code.COLUMN_EMPTY,
    Code.COLUMN_INDEX,
    Code.COLUMN_TYPE,
    Code.VALUE_TEXT,
    Code.VALUE_INFINITE,
    Code.VALUE_FRACTION,
    Code.VALUE_OUTSIDE,
}  # test_csv_table.py and test_parquet_table.py have these
OF_WORDS = {
    Code.WORD_TYPE,
    Code.WORD_UNLISTED,
    Code.WORD_NONE_LISTED,
    Code.WORD_ALIKE,
    Code.WORD_MISSING,
    Code.WORD_IDENTIFIER,
    Code.WORD_FREE_TEXT,
    Code.WORD_LONG,
    Code.WORDS_TOO_MANY,
}  # test_words.py has these
OF_COPIES = {Code.READER, Code.COPY, Code.DOSAGE, Code.SAMPLES_DIFFER}  # test_data_copies.py
OF_PGEN = {code for code in Code if code.name.startswith("PGEN")}  # test_data_pgen.py
OF_IMAGES = {code for code in Code if code.name.startswith("IMAGE")}  # test_images.py
ELSEWHERE = (
    OF_PGEN
    | OF_IMAGES
    | OF_COPIES
    | {
        *(Code.ALLELES_SEVERAL, Code.CALLS_ONLY),  # there, too
        Code.FLOOR,  # test_check_command.py
        Code.PEOPLE_RELATED,  # test_people.py
        Code.HETEROZYGOSITY,
        *(Code.ALLELES_DIFFER, Code.STRAND, Code.FREQUENCY),  # test_frequencies.py
    }
)


def test_every_code_has_a_test() -> None:
    tested = (
        {fault.code for fault in FAULTS.values()} | {Code.FILE_UNREADABLE} | OF_TABLES | OF_WORDS | ELSEWHERE
    )
    assert tested == set(Code)


@pytest.mark.parametrize("kind", ["bed", "bim", "fam"])
def test_a_file_that_may_not_be_read(files: Any, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Path.open

    def refuse(path: Path, *arguments: Any, **more: Any) -> Any:
        if path.suffix == f".{kind}":
            raise PermissionError(13, "Permission denied")
        return opened(path, *arguments, **more)

    monkeypatch.setattr(Path, "open", refuse)
    findings = files.check().findings
    assert [(f.code, f.file) for f in findings] == [(Code.FILE_UNREADABLE, files.folder / f"t.{kind}")]
    assert "Permission denied" in findings[0].message


def test_a_sound_cohort_has_nothing_to_tell(files: Any) -> None:
    report = files.check()
    assert report.findings == []
    assert report.ok
    assert report.summary["samples"] == {
        "in the .fam": 60,
        "removed": 0,
        "kept": 60,
        "males": 30,
        "females": 30,
        "sex unknown": 0,
        "founders": 60,
    }
    assert report.summary["phenotypes"][0]["cases"] == 30
    assert report.summary["variants"] == {
        "in the .bim": 3,
        "read": 3,
        "by chromosome": {"1": 2, "2": 1},
        "A/T or C/G": "0",
        "one allele seen": "0",
        "insertions and deletions": "0",
        "build": "the positions do not tell",
    }


def test_the_summary_shows_typical_values_before_odd_ones(files: Any) -> None:
    """Each fact has a line of its own, and numbers of nobody are not listed."""
    words = [*(str(20 + k % 20) for k in range(50)), *["22"] * 5, "-9", "-9", "n/a", "23", "23"]
    (files.folder / "p").write_text(pheno(words))
    report = files.check(pheno="p")
    lines = [line.strip() for line in plain_lines(report)]
    assert "values seen: 22: 8 · 23: 5 · 20: 3 · -9: 2 · n/a: 1" in lines
    assert "by chromosome: 1: 2 · 2: 1" in lines
    assert in_words({"none": 60, "to 1%": 0}) == "none: 60"
    found = columns_of(files.folder / "p", Report())
    assert found is not None and found.columns[0].values[0] == "22 (8)"


def test_all_faults_are_told_at_once(files: Any) -> None:
    """A person mends the files once, not once per fault."""
    (files.folder / "t.bim").write_text(text(BIM, {2: "99 rs2 0 x C T"}))
    (files.folder / "t.bed").write_bytes(b"\x6c\x1b\x01" + bytes(5))
    (files.folder / "p").write_text(pheno(["1", "yes"]))
    (files.folder / "c").write_text(text(COVAR, {3: "F1 I1 x b"}))
    report = files.check(pheno="p", covar="c", covariates=SITE, keep="gone")
    assert {finding.code for finding in report.of(E)} == {
        Code.POSITION,
        Code.BED_SIZE,
        Code.PHENOTYPE_TEXT,
        Code.COVARIATE_TEXT,
        Code.FILE_MISSING,
    }


def test_examples_are_three(files: Any) -> None:
    (files.folder / "p").write_text(text(PHENO[:30]))
    finding = next(f for f in files.check(pheno="p").findings if f.code == Code.SAMPLES_UNMATCHED)
    assert finding.count == 31
    assert finding.examples == ("line 30: F29 I29", "line 31: F30 I30", "line 32: F31 I31")


@pytest.mark.parametrize(
    "options",
    [
        {"mpheno": 1, "pheno_name": "a", "pheno": "p"},
        {"mpheno": 1},
        {"covar_name": ("a",)},
        {"covar_name": ("a",), "covar_number": ("1",), "covar": "c"},
        {"covariates": SITE},
        {"missing_phenotype": 1},
        {"chr_set": 0},
        {"one": True, "trait": "quantitative"},
    ],
)
def test_options_that_do_not_go_together(files: Any, options: dict[str, Any]) -> None:
    findings = files.check(**options).findings
    assert [finding.code for finding in findings] == [Code.OPTION]
    assert findings[0].remedy


WORDS = b"FID IID #IID #FID F1 I1 F2 I2 0 1 2 -9 NA nan 1.5 1,5 x rs1 . chrX 99 -1 A G site a b".split()
OTHERS = [b" ", b"\t", b"\n", b"\r\n", b"\r", b"#", b"\xff", b"\xc3\xa9", b"\0", b"\xef\xbb\xbf", b'"']

like_a_table = st.lists(st.sampled_from(WORDS) | st.sampled_from(OTHERS), max_size=40).flatmap(
    lambda parts: st.sampled_from([b"", b" ", b"\t"]).map(lambda between: between.join(parts))
)


@given(
    st.sampled_from(["t.fam", "t.bim", "t.bed", "p", "c", "k"]),
    st.binary(max_size=60) | like_a_table,
    st.booleans(),
    st.booleans(),
)
def test_nonsense_in_any_file_is_reported_and_never_an_exception(
    name: str, content: bytes, after: bool, named: bool
) -> None:
    sound = {"t.fam": text(FAM), "t.bim": text(BIM), "p": text(PHENO), "c": text(COVAR), "k": text(FAM)}
    with TemporaryDirectory() as folder:
        for other, lines in sound.items():
            (Path(folder) / other).write_text(lines)
        (Path(folder) / "t.bed").write_bytes(b"\x6c\x1b\x01" + bytes(45))
        path = Path(folder) / name
        path.write_bytes(path.read_bytes() + content if after else content)
        options = DataOptions(
            bfile=Path(folder) / "t",
            pheno=Path(folder) / "p",
            pheno_name="other" if named else None,
            covar=Path(folder) / "c",
            covar_name=("age-site",) if named else (),
            covariates=SITE,
            keep=Path(folder) / "k",
        )
        data, report = open_cohort(options)
    assert (data is not None) == report.ok
    assert all(line.isprintable() for line in plain_lines(report))
    json.dumps(report.to_json())


def test_a_mean_is_a_number_however_large_the_values_are() -> None:
    assert mean(np.array([1e308, 1e308, -1e308])) == pytest.approx(1e308 / 3)
    assert mean(np.array([1.0, 2.0])) == 1.5
