"""A cohort's files aligned with a panel, and whether they are still the files that were accepted."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from unpooled.errors import DataProblem
from unpooled.panel import Panel
from unpooled_client.state.fingerprint import BLOCK, Fingerprint, check_unchanged, fingerprints

# Out of order, with a comment, a negative position and a variant that no panel has.
BIM = "2 b 0 9 T C\n2 c 0 9 A G\n#x\n1 z 0 50 0 G\n1 y 0 -1 A C\n1 x 0 50 G A\nX w 0 1 A T\n"
PANEL = [
    (1, 50, b"x", b"A", b"G"),
    (1, 50, b"z", b"A", b"G"),
    (2, 9, b"absent", b"A", b"C"),
    (2, 9, b"b", b"A", b"G"),  # the other strand
    (2, 9, b"c", b"A", b"G"),
]


def counts(words: np.ndarray, samples: int) -> np.ndarray:
    """How often each two-bit code occurs, (rows, 4)."""
    shifts = 2 * np.arange(32, dtype=np.uint64)
    code = (words[:, :, None] >> shifts & np.uint64(3)).reshape(len(words), -1)[:, :samples]
    return np.stack([(code == c).sum(axis=1) for c in range(4)], axis=1)


def test_genotypes_are_plinks(files: Any) -> None:
    """The counts of --freqx, whose order of alleles is that of the .bim with --keep-allele-order."""
    bim = "".join(sorted(BIM.replace("#x\n", "").splitlines(keepends=True)))
    files.write(bim=bim)
    assert files.plink("--freqx", "--keep-allele-order", "--nonfounders").returncode == 0
    _, *rows = files.output("frqx")
    expected = {row[1]: (int(row[4]), int(row[-1]), int(row[5]), int(row[6])) for row in rows}
    data = files.open()
    found = counts(data.align(data.panel).packed(slice(None)).words, 60)
    names = [name.decode() for name in data.panel.name.tolist()]
    autosomal = [k for k, name in enumerate(names) if name != "w"]  # haploid calls are counted apart
    assert {names[k]: tuple(found[k]) for k in autosomal} == {
        name: row for name, row in expected.items() if name != "w"
    }


def test_alignment_with_a_panel(files: Any) -> None:
    files.write(bim=BIM)
    data = files.open()
    assert data.panel.name.tolist() == [b"x", b"z", b"b", b"c", b"w"]
    assert data.variants.rows == 6
    cohort = data.align(Panel.of(PANEL))
    assert cohort.rows.tolist() == [4, 2, -1, 0, 1]
    packed = cohort.packed(slice(None))
    # A1 of x is G, of z the unseen one, of b T, which is A on the other strand, and of c A.
    assert packed.swapped[[0, 3, 4]].tolist() == [True, False, False]
    assert counts(packed.words, 60)[2].tolist() == [0, 60, 0, 0]
    some = cohort.packed(np.array([4, 0]))
    assert np.array_equal(counts(some.words, 60), counts(packed.words, 60)[[4, 0]])
    assert some.swapped.tolist() == [False, True]


def test_the_same_panel_whatever_the_order_of_the_file(files: Any) -> None:
    files.write(bim=BIM)
    own = files.open().panel
    files.write(bim="\n".join(reversed(BIM.splitlines())))
    assert files.open().panel.digest == own.digest


@pytest.mark.parametrize("name", ["bed", "bim", "fam", "pheno"])
def test_a_file_that_changed_is_named(files: Any, name: str) -> None:
    files.write(pheno="".join(f"F{k} I{k} 1\n" for k in range(60)))
    paths = files.options(pheno="pheno").paths
    accepted = fingerprints(paths)
    check_unchanged(accepted, paths)
    content = paths[name].read_bytes()
    times = paths[name].stat()
    paths[name].write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])
    os.utime(paths[name], ns=(times.st_atime_ns, times.st_mtime_ns + 1))
    with pytest.raises(DataProblem, match=f"the {name} file has changed"):
        check_unchanged(accepted, paths)
    paths[name].write_bytes(content)  # restored, with another time
    check_unchanged(accepted, paths)
    paths[name].unlink()
    with pytest.raises(DataProblem, match=f"the {name} file has changed"):
        check_unchanged(accepted, paths)


def test_other_options_than_accepted_are_told(files: Any) -> None:
    files.write(pheno="F1 I1 1\n")
    accepted = fingerprints(files.options().paths)
    with pytest.raises(DataProblem, match="pheno"):
        check_unchanged(accepted, files.options(pheno="pheno").paths)


def test_a_huge_file_is_sampled_and_then_its_time_counts(files: Any) -> None:
    path = files.folder / "huge"
    path.write_bytes(bytes(3 * BLOCK))
    before = Fingerprint.of(path, whole=BLOCK)
    assert before.sampled
    assert before.same(Fingerprint.of(path, whole=BLOCK))
    os.utime(path, ns=(0, 0))
    assert not before.same(Fingerprint.of(path, whole=BLOCK))
    path.write_bytes(bytes(3 * BLOCK - 1) + b"\1")
    assert before.digest != Fingerprint.of(path, whole=BLOCK).digest
