"""A report as a page that can be kept and printed: what to fix, then what is in the files, with pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from unpooled.pages.page import Html, columns, document, facts, joined, mark, section, share, table, tag
from unpooled_client.data.findings.report import Finding, Report, Severity
from unpooled_client.data.samples.table import MATCHING
from unpooled_client.data.show import WORDS, details, headline, in_words
from unpooled_client.data.tables.categories import WORDS as WORDS_OF

_TONES = {Severity.ERROR: "bad", Severity.WARNING: "warning", Severity.NOTE: "plain"}
_TITLES = {Severity.ERROR: "To fix", Severity.WARNING: "To look at", Severity.NOTE: "For information"}

Summary = Mapping[str, Any]


def as_page(report: Report, when: datetime) -> str:
    """The report as a document of HTML. `when` the files were checked."""
    of = report.summary
    return document(
        "Check of the data files",
        section("Verdict", tag("p", *_verdict(report))),
        *(_findings(severity, found) for severity in Severity if (found := report.of(severity))),
        *([_plain("Checked for the study", of["study"])] if "study" in of else []),
        *([_files(of["files"])] if "files" in of else []),
        *([_samples(of["samples"], of.get(MATCHING, []))] if "samples" in of else []),
        *map(_phenotype, of.get("phenotypes", [])),
        *([_covariates(of["covariates"])] if of.get("covariates") else []),
        *([_variants(of["variants"])] if "variants" in of else []),
        *_pictured(of),
        *([_plain("The table", of["table"])] if "table" in of else []),
        *(_words(about) for about in of.get(WORDS_OF, [])),
        *([_plain("What a study would take here", of["estimate"])] if "estimate" in of else []),
        about=f"{when:%Y-%m-%d %H:%M}. Made on this computer; nothing was sent. It contains counts and "
        "examples from your files: keep it where they are.",
    )


def _verdict(report: Report) -> Iterator[str]:
    yield mark("good", "✓ ready") if report.ok else mark("bad", "✗ not ready")
    yield f" {report.verdict}"


def _findings(severity: Severity, found: list[Finding]) -> Html:
    return section(_TITLES[severity], *(_finding(finding) for finding in found))


def _finding(finding: Finding) -> Html:
    # The sentence first; the file's place below, for a path is long.
    sentence = headline(finding).removeprefix(f"{finding.where}: ")
    where = [("where", tag("code", finding.where))] if finding.where else []
    rest = [(name, _with_code(words) if name == "remedy" else words) for name, words in details(finding)]
    return tag(
        "article",
        tag("h3", mark(_TONES[finding.severity], WORDS[finding.severity]), " ", sentence),
        facts([*where, *rest, ("code", tag("code", finding.code))]),
    )


def _with_code(words: str) -> Html:
    """A text in which what stands between two backquotes is to be typed."""
    return joined(tag("code", part) if k % 2 else part for k, part in enumerate(words.split("`")))


def _files(files: Summary) -> Html:
    return section("Files", facts([(name, tag("code", value)) for name, value in files.items()]))


def _samples(samples: Summary, matching: list[Summary]) -> Html:
    names = ("rows with a sample", "rows without a sample", "samples without a row")
    rows = [[part["name"], *(in_words(part[name]) for name in names)] for part in matching]
    beside = [table("Other files beside the samples", ["file", *names], rows, {1, 2, 3})] if rows else []
    return section("Samples", _facts(samples), *beside)


def _phenotype(about: Summary) -> Html:
    pictured = about.get("distribution") or about["values seen"]
    caption = (
        "People by value; below each column is the least value in it"
        if about.get("distribution")
        else "What is in the file, and how often"
    )
    picture = (
        [columns(f"{about['name']}. {caption}", list(pictured.items()), 60 * len(pictured))]
        if pictured
        else []
    )
    people = about["missing"] + sum(about.get(name, 0) for name in ("cases", "controls", "samples"))
    missing = _missing(about["missing"], people)
    others = {name: value for name, value in about.items() if name not in ("distribution", "missing")}
    return section("Phenotype", facts([*_pairs(others), ("missing", missing)]), *picture)


def _covariates(covariates: list[Summary]) -> Html:
    heads = ["covariate", "missing", "values", "missing as"]
    rows = [
        [about["name"], _of(about), _values(about), in_words(about.get("missing as", {}))]
        for about in covariates
    ]
    return section("Covariates", table("The columns that a regression takes", heads, rows))


def _of(about: Summary) -> Html:
    return _missing(about["missing"], about["missing"] + about.get("known", 0))


def _values(about: Summary) -> str:
    if "levels" in about:
        return in_words(about["levels"])
    if "smallest" not in about:
        return "none"
    return f"{in_words(about['smallest'])} to {in_words(about['largest'])}, mean {in_words(about['mean'])}"


def _missing(missing: int, people: int) -> Html:
    if not missing:
        return Html("0")
    return joined([f"{missing:,} ({missing / people:.1%})", share(missing, people)])


def _variants(about: Summary) -> Html:
    counts = about["by chromosome"]
    others = {name: value for name, value in about.items() if name != "by chromosome"}
    picture = columns("Variants by chromosome", list(counts.items()), width=900)
    return section("Variants", _facts(others), picture, tag("p", in_words(counts), class_="muted"))


_PICTURED = (
    ("calls", "Missing calls", "people by share missing", "People by their share of missing calls"),
    ("people", "People", "distribution", "People by F, which lacking heterozygous calls raise; below each "
     "column is the least F in it"),
    ("frequencies", "Frequencies beside the reference", "distribution", "Variants by the difference of their "
     "frequency from the reference's"),
)  # fmt: skip
"""Parts of the summary with counts to be drawn: the part, its title, and the counts with their caption."""


def _pictured(of: Summary) -> Iterator[Html]:
    for part, title, name, caption in _PICTURED:
        if about := of.get(part):
            others = {key: value for key, value in about.items() if key != name}
            counts = list(about.get(name, {}).items())
            picture = [columns(caption, counts, max(360, 60 * len(counts)))] if counts else []
            yield section(title, _facts(others), *picture)


def _words(about: Summary) -> Html:
    others = {name: value for name, value in about.items() if name not in ("name", "values")}
    rows = [[word, f"{count:,}"] for word, count in about["values"].items()]
    return section(
        f"Words of {about['name']}",
        _facts(others),
        table("The most frequent values here", ["value", "rows"], rows, {1}),
    )


def _plain(title: str, about: Summary) -> Html:
    return section(title, _facts(about))


def _facts(about: Summary) -> Html:
    return facts(_pairs(about))


def _pairs(about: Summary) -> list[tuple[str, str]]:
    return [(name, words) for name, value in about.items() if (words := in_words(value))]
