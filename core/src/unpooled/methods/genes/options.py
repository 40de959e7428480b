"""Options of tests of sets of variants: the set list, annotations, masks and weights that a plan holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from unpooled.methods.genes.sets import (
    NO_MASK,
    VariantSet,
    masked_sets,
    read_annotations,
    read_masks,
    read_sets,
)
from unpooled.plan.options import Answer, Choice, Lines, Number, Place
from unpooled.plan.plan import Plan

MOST_LETTERS = 500_000
"""Longest set list, annotations and masks together: they are a part of the plan, which the interface takes up
to a megabyte of."""

BETA, FLAT, MADSEN_BROWNING, OWN, OWN_BETA = "beta", "flat", "madsen-browning", "own", "own-beta"
"""Weights of variants. The last two have those of the annotations."""


def sets_of(plan: Plan) -> tuple[VariantSet, ...]:
    """The sets of a plan; where it has masks, a set's masks one after the other."""
    if not SET_LIST.of(plan):
        return ()
    if not MASKS.of(plan):
        return read_sets(SET_LIST.of(plan))
    return masked_sets(SET_LIST.of(plan), ANNOTATIONS.of(plan), MASKS.of(plan))


def masks_of(plan: Plan) -> tuple[str, ...]:
    """The names of the masks that each set of the list has; one of all variants without any."""
    return tuple(read_masks(MASKS.of(plan))) if MASKS.of(plan) else (NO_MASK,)


def narrow_first(plan: Plan) -> list[int]:
    """The places of the masks, those of fewer annotations first: a mask comes before all that it is in."""
    if not MASKS.of(plan):
        return [0]
    named = list(read_masks(MASKS.of(plan)).values())
    return sorted(range(len(named)), key=lambda place: (len(named[place]), place))


def _problem_of(read: Callable[[str], object]) -> Callable[[str], str]:
    """Say what is wrong with a text that is read so."""

    def problem(text: str) -> str:
        try:
            read(text)
        except ValueError as error:
            return str(error)
        return ""

    return problem


def _letters_problem(text: str, plan: Plan) -> str:
    letters = sum(len(option.of(plan)) for option in (SET_LIST, ANNOTATIONS, MASKS))
    if letters > MOST_LETTERS:
        return (
            f"at most {MOST_LETTERS:,} letters with annotations and masks, not {letters:,}: leave sets "
            "out, or have several studies"
        )
    return ""


def _annotations_problem(text: str, plan: Plan) -> str:
    if text and not MASKS.of(plan):
        return f"go with masks ({MASKS.flag}), which say what annotations the variants of a set have"
    if text and _have_weights(text) and SET_WEIGHTS.of(plan) not in (OWN, OWN_BETA):
        return f"have weights: choose {OWN} or {OWN_BETA} as weights, or leave the fourth column out"
    return ""


def _have_weights(text: str) -> bool:
    return any(each.weight is not None for each in read_annotations(text).values())


def _masks_problem(text: str, plan: Plan) -> str:
    if not text:
        return ""
    if not ANNOTATIONS.of(plan):
        return f"go with the annotations of variants ({ANNOTATIONS.flag})"
    texts = SET_LIST.of(plan), ANNOTATIONS.of(plan)
    if _problem_of(read_sets)(texts[0]) or _problem_of(read_annotations)(texts[1]):
        return ""  # which those options say
    return _problem_of(lambda masks: masked_sets(*texts, masks))(text)


def _weights_problem(chosen: str, plan: Plan) -> str:
    text = ANNOTATIONS.of(plan)
    if chosen not in (OWN, OWN_BETA) or (text and _problem_of(_have_weights)(text)):
        return ""  # of texts that cannot be read their own option tells
    if not text or not _have_weights(text):
        return f"own weights are the fourth column of the annotations ({ANNOTATIONS.flag}), which have none"
    return ""


def _sets_in_short(text: str) -> str:
    return _in_short([each.title for each in read_sets(text)])


def _annotations_in_short(text: str) -> str:
    times = Counter(each.annotation for each in read_annotations(text).values())
    return _in_short([f"{name} ({count:,})" for name, count in times.most_common()], times.total())


def _masks_in_short(text: str) -> str:
    return _in_short([f"{name} ({' + '.join(wanted)})" for name, wanted in read_masks(text).items()])


def _in_short(titles: list[str], count: int | None = None) -> str:
    shown = ", ".join(titles[:_NAMED])
    return f"{len(titles) if count is None else count:,}: {shown}{', …' if len(titles) > _NAMED else ''}"


_NAMED = 5
"""Sets, annotations and masks that people read the names of."""

SET_LIST = Lines(
    name="set_list",
    label="Sets of variants",
    flag="--set-list",
    hint="A set a line, as regenie reads them: its name, chromosome and position, and the IDs of its "
    "variants with commas between them, such as APOE 19 44905796 rs429358,rs7412.",
    words="lines of a name, a chromosome, a position and IDs with commas between them",
    place=Place.MODEL,
    problem_of=_problem_of(read_sets),
    in_short=_sets_in_short,
    rule=_letters_problem,
    fact="{}",
)

ANNOTATIONS = Lines(
    name="annotations",
    came_later=True,
    label="Annotations of variants",
    flag="--anno-file",
    hint="A variant a line, as regenie reads them: its ID, a set and its annotation there, such as "
    "rs429358 APOE missense. A fourth column is the variant's own weight.",
    words="lines of an ID, a set and an annotation, and in all or in none a weight",
    place=Place.MODEL,
    needs=SET_LIST.name,
    problem_of=_problem_of(read_annotations),
    in_short=_annotations_in_short,
    rule=_annotations_problem,
)

MASKS = Lines(
    name="masks",
    came_later=True,
    label="Masks of annotations",
    flag="--mask-def",
    hint="A mask a line, as regenie reads them: its name, and the annotations that it takes with commas "
    "between them, such as damaging LoF,missense. Each set is tested once for each mask.",
    words="lines of a name, and annotations with commas between them",
    place=Place.MODEL,
    needs=ANNOTATIONS.name,
    problem_of=_problem_of(read_masks),
    in_short=_masks_in_short,
    rule=_masks_problem,
    methods="The variants of each set were tested by masks of their annotations: {}.",
)

MAX_MAF = Number(
    name="max_maf",
    label="Largest frequency of the rarer allele",
    flag="--max-maf",
    hint="In the pool; more frequent variants are in no set.",
    default=0.01,
    least=0,
    most=0.5,
    place=Place.MODEL,
    fact="{}: more frequent variants are in no set",
    is_always_said=True,
    methods="Variants with a frequency of the rarer allele of at most {} were in the sets.",
)

SET_WEIGHTS = Choice(
    name="set_weights",
    label="Weights of variants",
    default=BETA,
    place=Place.MODEL,
    answers=(
        Answer(
            BETA,
            "Beta(1, 25) of the frequency",
            "As SKAT's: the rarer, the heavier.",
            "the density of Beta(1, 25) at the frequency",
            "Variants had the density of Beta(1, 25) at their frequency as weights.",
        ),
        Answer(
            MADSEN_BROWNING,
            "Madsen and Browning's",
            "1 / √(p (1 - p)) of the frequency p.",
            "1 / √(p (1 - p)) of the frequency p",
            "Variants of frequency p had the weights 1 / √(p (1 - p)).",
        ),
        Answer(FLAT, "All alike", "", "all alike", "All variants had the same weight."),
        Answer(
            OWN,
            "Those of the annotations",
            "As regenie's --weights-col.",
            "those of the annotations",
            "Each variant had a weight of its own.",
        ),
        Answer(
            OWN_BETA,
            "Those of the annotations, times Beta(1, 25)",
            "As regenie's --weights-col with --multiply-weights.",
            "those of the annotations, times the density of Beta(1, 25) at the frequency",
            "Each variant had a weight of its own, times the density of Beta(1, 25) at its frequency.",
        ),
    ),
    rule=_weights_problem,
)
