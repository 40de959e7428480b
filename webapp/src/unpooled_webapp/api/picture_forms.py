"""Forms of the answers about pictures, for the schema: the library makes them as they are sent."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

_GENE_DISTANCE = "base pairs from it; 0 inside it, null if there is none"


def _numbers(**options: Any) -> serializers.ListField:
    return serializers.ListField(child=serializers.FloatField(), **options)


def _indices(**options: Any) -> serializers.ListField:
    return serializers.ListField(child=serializers.IntegerField(), **options)


def _texts(**options: Any) -> serializers.ListField:
    return serializers.ListField(child=serializers.CharField(), **options)


class Chromosome(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="such as 7, X or unplaced")
    first = serializers.IntegerField(help_text="position of its first variant")
    last = serializers.IntegerField(help_text="position of its last variant")
    variants = serializers.IntegerField()


class Cell(serializers.Serializer[Any]):
    bases = serializers.IntegerField(help_text="its width")
    height = serializers.FloatField(help_text="in -log10 P")


class RegionSegments(serializers.Serializer[Any]):
    """Cells that lie on one another, as one; a list for each quantity."""

    column = _indices(help_text="cells from the left")
    low = _indices(help_text="its lowest cell, counted from 0: the segment begins at `low` times the height")
    high = _indices(help_text="its highest cell: the segment ends at `high` + 1 times the height")


class GenomeSegments(RegionSegments):
    chromosome = _texts()


class Points(serializers.Serializer[Any]):
    """Single variants; a list for each quantity."""

    index = _indices(help_text="rows of the result table")
    position = _indices()
    id = _texts()
    neg_log10_p = _numbers()


class GenomePoints(Points):
    chromosome = _texts()


class RegionPoints(Points):
    a1 = _texts()
    a2 = _texts()
    a1_freq = serializers.ListField(child=serializers.FloatField(allow_null=True))
    effect_of_a1 = serializers.ListField(child=serializers.FloatField(allow_null=True))
    se = serializers.ListField(
        child=serializers.FloatField(allow_null=True), help_text="of log OR, or of BETA"
    )


class _Picture(serializers.Serializer[Any]):
    version = serializers.IntegerField(help_text="of this form")
    variants = serializers.IntegerField(help_text="that have a P")
    effect = serializers.ChoiceField(["OR", "BETA"], help_text="what the effect of A1 is told as")
    genome_wide = serializers.FloatField(help_text="P of the upper line")
    suggestive = serializers.FloatField(help_text="P of the lower line")
    leads = _indices(help_text="which of the points, counted from 0, are lead variants")


class Manhattan(_Picture):
    without_p = serializers.IntegerField(help_text="variants without a P")
    chromosomes = Chromosome(many=True)
    cell = Cell()
    segments = GenomeSegments()
    points = GenomePoints()


class Linkage(serializers.Serializer[Any]):
    lead = serializers.CharField(help_text="ID of the strongest lead variant of the region")
    r2 = serializers.ListField(
        child=serializers.FloatField(allow_null=True),
        help_text="of each point with it; null where the two were not compared",
    )


class CredibleSet(serializers.Serializer[Any]):
    lead = serializers.CharField(help_text="ID of the lead variant of its locus")
    number = serializers.IntegerField(help_text="in the locus, as in the file .susie")
    variants = serializers.IntegerField()


class Credible(serializers.Serializer[Any]):
    pip = serializers.ListField(
        child=serializers.FloatField(allow_null=True),
        help_text="of each point, the probability that it has an effect; null outside of loci",
    )
    set = serializers.ListField(
        child=serializers.IntegerField(allow_null=True),
        help_text="of each point, which of the sets it is in, counted from 0; null for none",
    )
    sets = CredibleSet(many=True)


class Region(_Picture):
    chromosome = serializers.CharField()
    first = serializers.IntegerField()
    last = serializers.IntegerField()
    cell = Cell(allow_null=True, help_text="null where every variant is a point")
    segments = RegionSegments()
    points = RegionPoints()
    linkage = Linkage(allow_null=True, help_text="null without a lead, or if the study looked at no linkage")
    credible = Credible(allow_null=True, help_text="null without a locus, or if the study looked for none")


class Gene(serializers.Serializer[Any]):
    name = serializers.CharField()
    start = serializers.IntegerField(help_text="its first base, counted from 1")
    end = serializers.IntegerField(help_text="its last base")
    strand = serializers.ChoiceField(["+", "-", "."])
    kind = serializers.ChoiceField(["coding", "RNA"])


class Recombination(serializers.Serializer[Any]):
    position = _indices(help_text="where each rate begins")
    rate = _numbers(help_text="in cM/Mb; of a long region the highest of each part")


class Surroundings(serializers.Serializer[Any]):
    build = serializers.CharField()
    chromosome = serializers.CharField()
    genes_source = serializers.CharField(
        help_text="where the genes are from; empty if none are known of the build"
    )
    count = serializers.IntegerField(help_text="genes that reach into the region")
    genes = Gene(many=True, help_text="in order; none where there are too many to show")
    recombination = Recombination(allow_null=True, help_text="null if no rates are known")


class FoundPlace(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(["variant", "place", "gene"])
    name = serializers.CharField()
    chromosome = serializers.CharField()
    first = serializers.IntegerField()
    last = serializers.IntegerField()


class Places(serializers.Serializer[Any]):
    places = FoundPlace(many=True)


class InStudy(serializers.Serializer[Any]):
    """A variant in one of two studies, per copy of the A1 of both."""

    id = serializers.CharField()
    a1_freq = serializers.FloatField(allow_null=True)
    effect = serializers.FloatField(allow_null=True)
    lower = serializers.FloatField(allow_null=True)
    upper = serializers.FloatField(allow_null=True)
    se = serializers.FloatField(allow_null=True)
    neg_log10_p = serializers.FloatField(allow_null=True)
    p = serializers.CharField(allow_null=True)


class LocusOfTwo(serializers.Serializer[Any]):
    """Told of by the strongest of all leads in it."""

    chromosome = serializers.CharField()
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    gene = serializers.CharField(help_text="that it lies in, or the nearest; empty if there is none")
    gene_distance = serializers.IntegerField(allow_null=True, help_text=_GENE_DISTANCE)
    id = serializers.CharField()
    position = serializers.IntegerField()
    a1 = serializers.CharField(help_text="the effect allele of both")
    a2 = serializers.CharField()
    leads = serializers.ListField(
        child=serializers.CharField(allow_null=True),
        help_text="of each study; null where it has no locus here",
    )
    studies = serializers.ListField(
        child=InStudy(allow_null=True), help_text="the variant in each; null in a study without it"
    )
    same_direction = serializers.BooleanField(allow_null=True, help_text="null where that is not known")


class Comparison(serializers.Serializer[Any]):
    effects = _texts(help_text="OR or BETA, of each study")
    rows = LocusOfTwo(many=True)


class Curve(serializers.Serializer[Any]):
    """The strongest first; -log10 P in all lists."""

    above = serializers.FloatField(help_text="frequency of the rarer allele: above this; 0 and 0.5 are all")
    up_to = serializers.FloatField()
    variants = serializers.IntegerField(help_text="that have a P")
    inflation = serializers.FloatField(
        allow_null=True, help_text="lambda: median chi-square over 0.456, not below 1"
    )
    expected = _numbers()
    observed = _numbers()
    low = _numbers(help_text="the lower edge of the band")
    high = _numbers(help_text="the upper edge of the band")


class Quantiles(serializers.Serializer[Any]):
    version = serializers.IntegerField(help_text="of this form")
    confidence = serializers.FloatField(help_text="of the band")
    curves = Curve(many=True, help_text="all variants first, then by frequency of the rarer allele")


class Locus(serializers.Serializer[Any]):
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    variants = serializers.IntegerField(help_text="with P at or below the suggestive threshold")


class CombinedEffect(serializers.Serializer[Any]):
    """All null where too few cohorts have an estimate."""

    effect = serializers.FloatField(allow_null=True)
    lower = serializers.FloatField(allow_null=True)
    upper = serializers.FloatField(allow_null=True)
    p = serializers.CharField(allow_null=True)


class Across(serializers.Serializer[Any]):
    """The meta-analysis of the cohorts' own estimates."""

    studies = serializers.IntegerField(help_text="cohorts with an estimate of their own")
    fixed = CombinedEffect()
    random = CombinedEffect(help_text="of DerSimonian and Laird")
    q_p = serializers.FloatField(allow_null=True, help_text="P of Cochran's Q")
    i_squared = serializers.FloatField(allow_null=True, help_text="in per cent")


class Variant(serializers.Serializer[Any]):
    index = serializers.IntegerField(help_text="row of the result table")
    id = serializers.CharField()
    chromosome = serializers.CharField()
    position = serializers.IntegerField()
    a1 = serializers.CharField(help_text="the effect allele")
    a2 = serializers.CharField()
    a1_freq = serializers.FloatField(allow_null=True)
    effect = serializers.FloatField(allow_null=True)
    lower = serializers.FloatField(allow_null=True)
    upper = serializers.FloatField(allow_null=True)
    se = serializers.FloatField(allow_null=True, help_text="of log OR, or of BETA")
    neg_log10_p = serializers.FloatField(allow_null=True)
    p = serializers.CharField(allow_null=True, help_text="as text: it may be smaller than a number can be")
    across = Across(allow_null=True, help_text="null in a study that does not combine estimates")
    locus = Locus(allow_null=True, help_text="the locus that it is in")
    lead = serializers.BooleanField(help_text="whether it leads its locus")
    gene = serializers.CharField(
        help_text="that it lies in, or the nearest within 500 kb; empty if there is none"
    )
    gene_distance = serializers.IntegerField(allow_null=True, help_text=_GENE_DISTANCE)


class Variants(serializers.Serializer[Any]):
    effect = serializers.ChoiceField(["OR", "BETA"])
    confidence = serializers.FloatField(help_text="of `lower` and `upper`")
    suggestive = serializers.FloatField(help_text="the largest P that makes a locus")
    reach = serializers.IntegerField(help_text="base pairs to either side of a lead that belong to its locus")
    loci = serializers.IntegerField(help_text="of the study; 0 is a result")
    found = serializers.IntegerField(help_text="rows in all; without a search the loci")
    start = serializers.IntegerField()
    rows = Variant(many=True)
