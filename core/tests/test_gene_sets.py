"""Set lists, annotations and masks of a plan, and the tests of a set where nothing is left of its columns."""

from __future__ import annotations

import numpy as np
import pytest

from unpooled.methods.genes.options import MOST_LETTERS, narrow_first, sets_of
from unpooled.methods.genes.result import own_weights
from unpooled.methods.genes.sets import MOST_MASKS, MOST_SETS, VariantSet, read_sets
from unpooled.methods.genes.tests import neg_log10_p
from unpooled.plan.plan import NO_KEY, Plan, PlanError


def test_a_set_list_is_read_as_regenie_reads_it() -> None:
    found = read_sets("APOE 19 44905796 rs429358,rs7412,rs429358\n\nPCSK9\tchr1\t55039548\t1:5:A:G\n")
    assert found == (
        VariantSet("APOE", "19", 44905796, ("rs429358", "rs7412")),
        VariantSet("PCSK9", "1", 55039548, ("1:5:A:G",)),
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a 1 1 v\nb 1 v,w", "line 2 is not a name, a chromosome, a position and IDs"),
        ("a 1 1 v w", "line 1 is not a name"),
        ("a 1 1 ,", "line 1 has a name or an ID of more than 200 letters, or no ID"),
        ("a 1 1 v\n\na 2 1 w", "line 3 is about the same set as one before: a"),
        (" \n", f"1 to {MOST_SETS:,} sets, not 0"),
        (
            "\n".join(f"g{k} 1 1 v" for k in range(MOST_SETS + 1)),
            f"{MOST_SETS:,} sets, not {MOST_SETS + 1:,}",
        ),
        ("a 1 1 " + "v," * (MOST_LETTERS // 2), f"at most {MOST_LETTERS:,} letters"),
    ],
)
def test_what_is_wrong_with_a_set_list_is_said_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(PlanError) as caught:
        Plan("gene-tests", "y", 3, NO_KEY, set_list=text)
    assert problem in caught.value.problems["set_list"]


SETS, ANNOTATIONS, MASKS = "g 1 5 u,v,w\nh 2 6 v,x", "u g LoF\nv g missense\nv h LoF", "m LoF,missense\nl LoF"


def masked(**options: str) -> Plan:
    texts = {"set_list": SETS, "annotations": ANNOTATIONS, "masks": MASKS}
    return Plan("gene-tests", "y", 3, NO_KEY, **texts | options)


def test_masks_take_variants_by_their_annotation_in_the_set() -> None:
    plan = masked()
    assert sets_of(plan) == (
        VariantSet("g.m", "1", 5, ("u", "v"), (), "m"),
        VariantSet("g.l", "1", 5, ("u",), (), "l"),
        VariantSet("h.m", "2", 6, ("v",), (), "m"),
        VariantSet("h.l", "2", 6, ("v",), (), "l"),
    )
    assert narrow_first(plan) == [1, 0]


def test_a_variant_of_weight_0_is_in_no_set() -> None:
    own = masked(annotations="u g LoF 0.25\nv g missense 0\nx h LoF 3\n", set_weights="own")
    assert [(each.variants, each.weights) for each in sets_of(own)] == [(("u",), (0.25,))] * 2 + [
        (("x",), (3.0,))
    ] * 2


def test_a_collapsed_column_has_the_mean_of_weights_by_copies() -> None:
    column, own, mean = (
        np.array([0, 2, 1, 2, 0]),
        np.array([5.0, 1, 7, 4, 6]),
        np.array([1, 0.2, 0.1, 0.1, 1]),
    )
    np.testing.assert_allclose(own_weights(column, own, mean), [5, 6, 7, 2])


@pytest.mark.parametrize(
    ("field", "options", "problem"),
    [
        ("annotations", {"annotations": "u g\n"}, "line 1 has 2 columns, not three"),
        ("annotations", {"annotations": "u g LoF\nv g LoF 1"}, "line 2 has 4 columns, those before have 3"),
        (
            "annotations",
            {"annotations": "u g LoF,x"},
            "column 3 of line 1 is longer than 200 letters, has one",
        ),
        ("annotations", {"annotations": "u g LoF\n\nu g other"}, "line 3 is about the same variant and set"),
        ("annotations", {"annotations": "u g LoF head"}, "column 4 of line 1 is no weight, 0 or a number"),
        ("annotations", {"annotations": "u g LoF -1"}, "from 0.000001 to 1,000,000: -1. Domains"),
        ("annotations", {"annotations": "u g LoF nan"}, "column 4 of line 1"),
        ("annotations", {"annotations": "u g LoF 1e-9"}, "column 4 of line 1"),
        ("annotations", {"annotations": "u g LoF inf"}, "column 4 of line 1"),
        ("annotations", {"annotations": "  \n"}, "no line has an annotation"),
        ("annotations", {"masks": ""}, "go with masks (--mask-def)"),
        ("masks", {"annotations": ""}, "go with the annotations of variants (--anno-file)"),
        ("masks", {"masks": "m LoF missense"}, "line 1 is not a name, and annotations with commas"),
        ("masks", {"masks": "m ,"}, "line 1 is not a name"),
        ("masks", {"masks": "m LoF\nm LoF"}, "line 2 is about the same mask as one before: m"),
        (
            "masks",
            {"masks": "m LoF,misense"},
            "no variant has the annotation misense, which the mask m names",
        ),
        ("masks", {"masks": "\n"}, f"1 to {MOST_MASKS} masks, not 0"),
        (
            "masks",
            {"set_list": "\n".join(f"g{k} 1 1 u" for k in range(MOST_SETS - 1)) + "\ng 1 1 u"},
            f"{MOST_SETS:,} sets with 2 masks each are more than {MOST_SETS:,}",
        ),
        (
            "masks",
            {"annotations": "u G LoF\nv G missense"},
            "the annotations name other sets or other variants",
        ),
        (
            "masks",
            {
                "set_list": "g 1 1 u\ng.m 1 1 u",
                "annotations": "u g LoF\nu g.m LoF",
                "masks": "m.n LoF\nn LoF",
            },
            "two sets with their masks would both be called g.m.n",
        ),
        ("set_weights", {"set_weights": "own"}, "own weights are the fourth column of the annotations"),
        (
            "annotations",
            {"annotations": "u g LoF 1\nv g missense 1"},
            "have weights: choose own or own-beta as weights, or leave the fourth column out",
        ),
        (
            "set_list",
            {"annotations": "\n".join(f"u g{k} LoF" for k in range(MOST_LETTERS // 10))},
            "letters with annotations and masks, not",
        ),
    ],
)
def test_what_is_wrong_with_masks_is_said_with_its_place(
    field: str, options: dict[str, str], problem: str
) -> None:
    with pytest.raises(PlanError) as caught:
        masked(**options)
    assert problem in caught.value.problems[field]


def test_a_set_that_covariates_explain_has_no_result() -> None:
    one = np.ones(2)
    assert np.isnan(neg_log10_p(one, np.zeros((2, 2)), one, one / 9)).all()


def test_columns_that_add_up_to_a_constant_have_no_burden() -> None:
    phi = np.array([[1.0, -1], [-1, 1]])
    found = neg_log10_p(np.array([2.0, -2]), phi, np.ones(2), np.full(2, 0.5))
    assert np.isnan(found[[0, 2]]).all() and (found[[1, 3]] > 1).all()
