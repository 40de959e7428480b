"""A study's plan, and what the methods let it ask, as the coordinator's API takes and gives them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from unpooled.plan import encodings
from unpooled.plan.options import Place
from unpooled.plan.schema import LONGEST_WORD, MOST_SEARCHED, ROLES, TYPES
from unpooled_webapp.api import plan_options

TRAITS = ["case/control", "quantitative", "none"]
PANEL_MODES = ["names", "list", "none"]
MASKING = ["modular", "gaussian"]
PLACES = [place.value for place in Place]


class PlanColumn(serializers.Serializer[Any]):
    """A column of the cohorts' tables."""

    name = serializers.CharField(max_length=200)
    type = serializers.ChoiceField(
        TYPES,
        required=False,
        help_text="`number` if not given; `category` is words to be encoded; "
        "`text` is neither read nor changed",
    )
    unit = serializers.CharField(max_length=40, required=False)
    low = serializers.FloatField(
        required=False,
        allow_null=True,
        help_text="of numbers: no value may be less; each client checks it before anything is sent",
    )
    high = serializers.FloatField(required=False, allow_null=True, help_text="likewise, more")
    encoding = serializers.CharField(
        required=False,
        help_text=f"of a category: {encodings.WANTED}; of a number, in a model, its scaling: "
        f"{', '.join(encodings.OF_NUMBERS)}",
    )
    levels = serializers.ListField(
        child=serializers.CharField(max_length=LONGEST_WORD),
        required=False,
        help_text="of a category with a dictionary: the values that may be in it; all others are the rest",
    )
    most = serializers.IntegerField(
        min_value=0,
        max_value=MOST_SEARCHED,
        required=False,
        help_text="in place of `levels`, which are not known: how many different ones a cohort has at most",
    )
    role = serializers.ChoiceField(
        ROLES,
        required=False,
        help_text="`feature` if not given; a model predicts the `outcome`, whose levels are its classes if "
        "it is a category; rows with the same `patient` are one person's; `ignored` is not read and not "
        "changed",
    )


class PlanFields(serializers.Serializer[Any]):
    """Everything that decides a number or who sees it. Hashes and keys are hex; the server adds the key.

    Fields that every study has; then the options, of which each test has some.
    """

    test = serializers.CharField()
    phenotype = serializers.CharField(max_length=200, help_text="empty in a study of tables")
    cohorts = serializers.IntegerField(help_text="how many take part, at least 3")
    trait = serializers.ChoiceField(TRAITS, required=False, help_text="none: a study of tables")
    build = serializers.CharField(max_length=40, required=False)
    autosomes = serializers.IntegerField(required=False)
    chromosomes = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="only these, such as 1-4, 22 and X"
    )
    nonfounders = serializers.BooleanField(required=False)
    allow_no_sex = serializers.BooleanField(required=False)
    files = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="result files, of those that the test has; `assoc` is a regression's own report",
    )
    min_samples = serializers.IntegerField(required=False, help_text="per cohort")
    min_per_class = serializers.IntegerField(required=False, help_text="cases, and controls, per cohort")
    chunk_size = serializers.IntegerField(
        required=False, help_text="variants in one question; 0 for as many as make a share of a few megabytes"
    )
    panel_mode = serializers.ChoiceField(PANEL_MODES, required=False, help_text="none: a study of tables")
    masking = serializers.ChoiceField(MASKING, required=False)
    variance = serializers.FloatField(required=False, help_text="of Gaussian masks")
    ring_bits = serializers.IntegerField(required=False, help_text="32, 64 or 128")
    schema = PlanColumn(many=True, required=False, help_text="in a study of tables, their columns")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {**super().get_fields(), **plan_options.fields()}


class FrozenPlan(PlanFields):
    compensator_key = serializers.CharField(read_only=True)
    panel_digest = serializers.CharField(read_only=True)
    version = serializers.IntegerField(read_only=True)


@extend_schema_field(FrozenPlan)
class FrozenPlanDict(serializers.ReadOnlyField):
    """A study's plan as it is stored: reading it field by field would load every method."""


@extend_schema_field(PlanFields)
class PlanDict(serializers.DictField):
    """Checked by the plan itself, which says what is wrong with each field."""


@extend_schema_field(PlanFields(partial=True))
class SomePlanFields(serializers.DictField):
    """The fields of a plan that change."""


class AskedPlan(serializers.Serializer[Any]):
    plan = PlanDict()


class MethodFile(serializers.Serializer[Any]):
    """A result file that a method can write."""

    name = serializers.CharField()
    title = serializers.CharField()
    hint = serializers.CharField()


class Answer(serializers.Serializer[Any]):
    """One of the values of a choice."""

    value = serializers.CharField()
    title = serializers.CharField()
    hint = serializers.CharField()


class MethodOption(serializers.Serializer[Any]):
    """An option of a method, beside the fields of every plan."""

    name = serializers.CharField(help_text="of the plan's field")
    kind = serializers.ChoiceField(plan_options.KINDS)
    title = serializers.CharField()
    hint = serializers.CharField()
    flag = serializers.CharField(help_text="PLINK's flag for the same; may be empty")
    place = serializers.ChoiceField(PLACES, help_text="in a form")
    needs = serializers.CharField(help_text="another option, without which it means nothing; may be empty")
    file = serializers.CharField(help_text="a result file, without which it means nothing; may be empty")
    wanted = serializers.CharField(help_text="what it takes, as in: a number from 0 to 1")
    least = serializers.FloatField(allow_null=True)
    most = serializers.FloatField(allow_null=True)
    answers = Answer(many=True, help_text="of a choice")
    among = serializers.ListField(
        child=serializers.CharField(), help_text="all words that there are, if any word will not do"
    )


class Template(serializers.Serializer[Any]):
    """A usual study of a method, to begin a plan with."""

    name = serializers.CharField()
    title = serializers.CharField()
    hint = serializers.CharField()
    covariates = serializers.ListField(
        child=serializers.CharField(), help_text="columns that the cohorts' files must have"
    )
    plan = serializers.DictField(help_text="fields and options that it sets; all else is as usual")


class Purpose(serializers.Serializer[Any]):
    """Purpose that people have with a study."""

    title = serializers.CharField()
    hint = serializers.CharField()


class Method(serializers.Serializer[Any]):
    """A test of variants, or a way to normalize tables."""

    name = serializers.CharField()
    title = serializers.CharField()
    purpose = Purpose()
    unlike_pool = serializers.CharField(
        help_text="why its result is not that of the pooled data; empty if it is"
    )
    of_tables = serializers.BooleanField()
    compares = serializers.BooleanField(help_text="whether sums are compared, whatever the plan says")
    traits = serializers.ListField(child=serializers.ChoiceField(TRAITS), help_text="the usual one first")
    files = MethodFile(many=True)
    options = MethodOption(many=True, help_text="in the order of a form")
    needed = serializers.ListField(
        child=serializers.CharField(), help_text="fields of a plan that its author has to say something in"
    )
    usual = PlanDict(help_text="a plan of this method where its author said nothing")
    templates = Template(many=True)
