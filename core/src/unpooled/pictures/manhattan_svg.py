"""The Manhattan plot drawn as SVG, from `unpooled.pictures.manhattan.overview`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from unpooled.pages.page import Html, tag
from unpooled.pictures.associations import p_text
from unpooled.pictures.drawing import LOG_P, Axis, diamond, dot, labelled, plot, power, short, text, upright

_SIZE = (1080, 430)
LEFT, TOP = 46, 28
_RIGHT, _BELOW = 68, 50
_LEAST = 8.0  # so that the genome-wide line is always in sight
_MANY = 60  # lead variants, of which each gets less room
_MOST_NAMES = 24
_LETTER = 6.8
_ROWS = (18, 30)  # pixels below the axis, of the names of chromosomes


@dataclass(frozen=True)
class _Genome:
    """The chromosomes end to end: their places, by name, their length, and its pixels."""

    start: Mapping[str, int]
    last: Mapping[str, int]
    length: int
    width: int

    @classmethod
    def of(cls, chromosomes: Iterable[Mapping[str, Any]], width: int) -> _Genome:
        start, last, length = {}, {}, 0
        for chromosome in chromosomes:
            name = chromosome["name"]
            start[name], last[name] = length, chromosome["last"]
            length += chromosome["last"]
        return cls(start, last, max(length, 1), width)

    def x(self, chromosome: str, position: float) -> float:
        within = min(position, self.last[chromosome])  # a cell may reach beyond the last variant
        return (self.start[chromosome] + within) / self.length * self.width

    def is_odd(self, chromosome: str) -> bool:
        return list(self.start).index(chromosome) % 2 == 1


def scales(overview: Mapping[str, Any], size: tuple[int, int] = _SIZE) -> tuple[_Genome, Axis]:
    """Return what places the marks of a picture of this size, from LEFT and TOP on."""
    width, height = size[0] - LEFT - _RIGHT, size[1] - TOP - _BELOW
    most = max([_LEAST, *overview["points"]["neg_log10_p"], _highest(overview)])
    return _Genome.of(overview["chromosomes"], width), Axis(most, height)


def draw(overview: Mapping[str, Any], size: tuple[int, int] = _SIZE) -> Html:
    """The plot of a whole genome."""
    genome, axis = scales(overview, size)
    limits = {name: overview[name.replace("-", "_")] for name in ("genome-wide", "suggestive")}
    lines = {name: short(axis.y(-math.log10(p))) for name, p in limits.items()}
    return plot(
        in_words(overview),
        (size, LEFT, TOP),
        *_stripes(genome, axis.height),
        *axis.drawn(genome.width, LOG_P),
        *(tag("path", class_=name, d=f"M0 {y}H{genome.width}") for name, y in lines.items()),
        *_marks(overview, genome, axis),
        *_leads(overview, genome, axis),
        *(
            text(power(p), genome.width + 6, float(lines[name]) + 4, class_="limit")
            for name, p in limits.items()
        ),
        *_names(genome, axis.height),
    )


def _highest(overview: Mapping[str, Any]) -> float:
    highest: float = (max(overview["segments"]["high"], default=-1) + 1) * overview["cell"]["height"]
    return highest


def in_words(overview: Mapping[str, Any]) -> str:
    """Describe the plot in words, for screen readers."""
    loci = len(overview["leads"])
    told = f"{loci:,} loci" if loci > 1 else "one locus" if loci else "no locus"
    return (
        f"Manhattan plot: {overview['variants']:,} variants on {len(overview['chromosomes'])} chromosomes, "
        f"{told} at or below the suggestive line.{_strongest(overview['points'])}"
    )


def _strongest(points: Mapping[str, Any]) -> str:
    scores = points["neg_log10_p"]
    if not scores:
        return ""
    most = max(range(len(scores)), key=scores.__getitem__)
    place = f"{points['chromosome'][most]}:{points['position'][most]:,}"
    return f" The strongest is {points['id'][most]} at {place} with P {p_text(scores[most])}."


def _stripes(genome: _Genome, height: float) -> list[Html]:
    """Every other chromosome stands on a stripe: colour is not all that tells neighbours apart."""
    ends = {name: (genome.x(name, 0), genome.x(name, last)) for name, last in genome.last.items()}
    return [
        tag("rect", class_="stripe", x=short(left), width=short(right - left), height=height)
        for name, (left, right) in ends.items()
        if genome.is_odd(name)
    ]


def _marks(overview: Mapping[str, Any], genome: _Genome, axis: Axis) -> list[Html]:
    """Draw everything but the leads, as one path for every other chromosome."""
    bases, height = overview["cell"]["bases"], overview["cell"]["height"]
    paths: dict[str, list[str]] = {name: [] for name in genome.start}
    segments = overview["segments"]
    for name, *cells in zip(*(segments[key] for key in ("chromosome", "column", "low", "high")), strict=True):
        column, low, high = cells
        ends = (axis.y((cell + 0.5) * height) for cell in (low, high))
        paths[name].append(upright(genome.x(name, (column + 0.5) * bases), *ends))
    leads = set(overview["leads"])
    for k, (name, position, score) in enumerate(_points(overview)):
        if k not in leads:  # a diamond, drawn on top
            paths[name].append(dot(genome.x(name, position), axis.y(score)))
    return [
        tag("path", class_=look, d="".join(d for name in part for d in paths[name]))
        for look, part in (("even", list(paths)[::2]), ("odd", list(paths)[1::2]))
    ]


def _points(overview: Mapping[str, Any]) -> Iterable[tuple[str, int, float]]:
    points = overview["points"]
    return zip(points["chromosome"], points["position"], points["neg_log10_p"], strict=True)


def _leads(overview: Mapping[str, Any], genome: _Genome, axis: Axis) -> list[Html]:
    """Diamonds, the strongest with their names."""
    points, places = overview["points"], list(_points(overview))
    strongest = sorted(overview["leads"], key=lambda k: -points["neg_log10_p"][k])
    marks = [(genome.x(*places[k][:2]), axis.y(places[k][2]), points["id"][k]) for k in strongest]
    radius = 4 if len(marks) > _MANY else 6
    labels = labelled(marks, genome.width, _MOST_NAMES)
    return [
        tag("path", class_="lead", d="".join(diamond(x, y, radius) for x, y, _ in marks)),
        *(text(label.text, label.x, label.y, label.anchor, "label") for label in labels),
    ]


def _names(genome: _Genome, height: float) -> list[Html]:
    """Name the chromosomes in two rows below the plot: those at the ends first, others where they fit."""
    names = list(genome.last)
    placed: list[tuple[float, int, float, str]] = []
    for name in dict.fromkeys([*names[:1], *names[-1:], *names]):
        x, half = genome.x(name, genome.last[name] / 2), len(name) * _LETTER / 2
        for y in _ROWS:
            if all(y != row or abs(x - middle) >= half + other + 4 for middle, row, other, _ in placed):
                placed.append((x, y, half, name))
                break
    return [
        tag("path", class_="axis", d=f"M0 {height}H{genome.width}"),
        *(text(name, x, height + y, "middle") for x, y, _, name in placed),
        text("Chromosome", genome.width / 2, height + 44, "middle", "title"),
    ]
