"""Measures the eight encodings of a paper, and those that Unpooled has in their place, side by side.

    .venv/bin/python docs/measure_encodings.py

Writes docs/measured/encodings.md. The paper, Privacy-Preserving Tabular Data Transformation in Federated
Learning, encodes words of Adult and of four other tables that are not free to ship. Here it is the passengers
of the Titanic, which scikit-learn brings along for its own tests: 1,309 rows, seven columns of words, four of
numbers. Those from one place go to few cohorts, so that cohorts have other words. Each time one logistic
regression is fitted to all cohorts' rows, as federated training would if it converged; F1 is of the
survivors among rows that it has not seen. Times are the processor's, for all parties in turn, in one process,
and for as many rows as Adult has.
"""

from __future__ import annotations

import csv
import gzip
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import measuring
import numpy as np
from measure_skew import Data, by_label, split, together
from scipy import sparse
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.preprocessing import OneHotEncoder, TargetEncoder

from unpooled.asking.cohort import ArrayTable
from unpooled.fitted.scaler import Z_SCORE
from unpooled.methods import usual
from unpooled.methods.tables.encoding import ENCODE
from unpooled.methods.tables.encoding.options import EVERYONE, OWN
from unpooled.methods.tables.encoding.reading import categories_of
from unpooled.panel.panel import Panel
from unpooled.plan.categories import Words
from unpooled.plan.encodings import ONE_HOT
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.plan.schema import CATEGORY, Column
from unpooled.run import run

WRITES = (measuring.Table("encodings", apart=0.02, free=(3, 4)),)
COHORTS = (4, 10)
SEEDS = range(10)
SKEW = 0.5
"""Cohorts have Dirichlet(0.5) shares of those from one place with one fate."""
ROWS = 45_222
"""Number of rows of Adult: as many are timed, drawn from this table with replacement."""
SMALL = 500
_TITANIC = "sklearn.datasets.tests.data.openml.id_40945", "data-v1-dl-16826755.arff.gz"

Matrix = np.ndarray | sparse.csr_matrix
Encode = Callable[[np.ndarray], Matrix]
"""Function by which a cohort encodes its words: object (n, columns) to numbers (n, features)."""


# The table


@dataclass(frozen=True, eq=False)
class Rows:
    """Words, object (n, c), "" where there is none; numbers, float64 (n, q), NaN; and 0 or 1, int (n,)."""

    words: np.ndarray
    numbers: np.ndarray
    target: np.ndarray

    def some(self, which: np.ndarray) -> Rows:
        return Rows(self.words[which], self.numbers[which], self.target[which])


@cache
def titanic() -> Rows:
    """Return who was on board, and who survived."""
    package, name = _TITANIC
    text = gzip.decompress((resources.files(package) / name).read_bytes()).decode()
    head, _, body = text.partition("@data\n")
    names = [line.split("'")[1] for line in head.splitlines() if line.startswith("@attribute")]
    lines = (line for line in body.splitlines() if line and not line.startswith("%"))
    people = [dict(zip(names, row, strict=True)) for row in csv.reader(lines, escapechar="\\")]
    numbers = [[_number(person[k]) for k in ("age", "fare", "sibsp", "parch")] for person in people]
    return Rows(
        np.array([list(_words(person)) for person in people], object),
        np.array(numbers),
        np.array([int(person["survived"]) for person in people]),
    )


def _words(person: dict[str, str]) -> Iterator[str]:
    """Class, sex, port, deck, title, letters of the ticket, and home. All of a cabin, name and ticket is one
    person's."""
    known = {name: "" if value == "?" else value for name, value in person.items()}
    yield from (known["pclass"], known["sex"], known["embarked"], known["cabin"][:1])
    yield known["name"].partition(", ")[2].partition(".")[0]
    yield "".join(letter for letter in known["ticket"] if letter.isalpha())
    yield known["home.dest"]


def _number(text: str) -> float:
    return np.nan if text == "?" else float(text)


# Encodings: from what the cohorts have for training to what each makes of its words


def pooled_one_hot(parts: Sequence[Rows]) -> list[Encode]:
    """The benchmark: a server reads all words. Intersections of sets give the same columns."""
    pooled = np.concatenate([part.words for part in parts])
    return [OneHotEncoder(handle_unknown="ignore").fit(pooled).transform] * len(parts)


def local_one_hot(parts: Sequence[Rows]) -> list[Encode]:
    """Each cohort numbers its own words; all fill up to the width of the widest."""
    widths = [max(len(set(part.words[:, c])) for part in parts) for c in range(parts[0].words.shape[1])]
    starts = np.cumsum([0, *widths])
    return [_placed(part, starts[:-1], int(starts[-1])) for part in parts]


def ring_one_hot(parts: Sequence[Rows]) -> list[Encode]:
    """UHE: each cohort goes on where the one before it in the ring ended, so no two share a column."""
    sizes = [[len(set(column)) for column in part.words.T] for part in parts]
    begins = np.cumsum([0, *np.ravel(sizes)])
    apart = begins[:-1].reshape(len(parts), -1)
    return [_placed(part, starts, int(begins[-1])) for part, starts in zip(parts, apart, strict=True)]


def _placed(part: Rows, starts: np.ndarray, width: int) -> Encode:
    """One-hot, where the first word in the order of the alphabet of column c stands at starts[c]."""
    own = OneHotEncoder(handle_unknown="ignore").fit(part.words)
    each = zip(starts, own.categories_, strict=True)
    places = np.concatenate([start + np.arange(len(words)) for start, words in each])

    def encode(words: np.ndarray) -> Matrix:
        found = own.transform(words).tocoo()
        return sparse.csr_matrix((found.data, (found.row, places[found.col])), (len(words), width))

    return encode


HOLDERS, PEOPLE, REST = 2, 10, "(rest)"


def dictionary(parts: Sequence[Rows]) -> list[Encode]:
    """One-hot by the words that ten people have and two cohorts; all others are one.

    Found in clear here, which gives the same F1; `searched` says how long the protocol takes.
    """
    kept = [_held([part.words[:, c] for part in parts]) for c in range(parts[0].words.shape[1])]
    encoder = OneHotEncoder(categories=[[*words, REST] for words in kept]).fit([[REST] * len(kept)])

    def encode(words: np.ndarray) -> Matrix:
        known = [np.isin(column, own) for column, own in zip(words.T, kept, strict=True)]
        return encoder.transform(np.where(np.column_stack(known), words, REST))

    return [encode] * len(parts)


def _held(columns: Sequence[np.ndarray]) -> list[str]:
    """The words of one column, which is given for each cohort, that enough people and cohorts have."""
    people = Counter(np.concatenate(columns).tolist())
    cohorts = Counter(word for column in columns for word in set(column))
    return [word for word in sorted(people) if people[word] >= PEOPLE and cohorts[word] >= HOLDERS]


def searched(spelled: str) -> Callable[[Sequence[Rows]], float]:
    """Return a function that times the study which finds the words: codes, every comparison, all masks."""

    def seconds(parts: Sequence[Rows]) -> float:
        plan = _search(parts, spelled)
        began = time.process_time()
        run(plan, Panel.of([]), [_table(part, plan) for part in parts])
        return time.process_time() - began

    return seconds


def _search(parts: Sequence[Rows], spelled: str) -> Plan:
    """Plan for each column as many different words as any cohort has at most, up to the next power of two."""
    most = [max(len(set(part.words[:, c])) for part in parts) for c in range(parts[0].words.shape[1])]
    columns = [
        Column(f"column {c}", CATEGORY, encoding=ONE_HOT, most=1 << n.bit_length())
        for c, n in enumerate(most)
    ]
    given = {**usual(ENCODE.name), "people": PEOPLE, "holders": HOLDERS, "spelled": spelled}
    return Plan(ENCODE.name, cohorts=len(parts), compensator_key=NO_KEY, schema=tuple(columns), **given)


def _table(part: Rows, plan: Plan) -> ArrayTable:
    words = {column.title: Words.of(cells) for column, cells in zip(plan.schema, part.words.T, strict=True)}
    values = np.zeros((len(part.target), 0))
    return ArrayTable(values, words, categories_of(words, values, plan))


def as_bytes(parts: Sequence[Rows]) -> list[Encode]:
    """Bytes-Norm: the bytes of a word are a number, which the z-score over all cohorts scales."""
    return _scaled(parts, lambda words: _each(words, lambda word, _: float(int.from_bytes(word.encode()))))


def modulo(parts: Sequence[Rows]) -> list[Encode]:
    """Mod-Norm: the same, modulo twice the cohorts' numbers of different words added up, then scaled."""
    most = [2 * sum(len(set(part.words[:, c])) for part in parts) for c in range(parts[0].words.shape[1])]
    return _scaled(
        parts, lambda words: _each(words, lambda word, c: float(int.from_bytes(word.encode()) % most[c]))
    )


def _scaled(parts: Sequence[Rows], encode: Encode) -> list[Encode]:
    scaler = together(Z_SCORE, [np.asarray(encode(part.words)) for part in parts])
    return [lambda words: scaler.transform(encode(words))] * len(parts)


def _each(words: np.ndarray, number: Callable[[str, int], float]) -> np.ndarray:
    """A number for each word by its column; each different word is looked at once."""
    found = np.empty(words.shape)
    for c, column in enumerate(words.T):
        different, which = np.unique(column, return_inverse=True)
        found[:, c] = np.array([number(word, c) for word in different])[which]
    return found


def n_grams(parts: Sequence[Rows]) -> list[Encode]:
    """Stand in for FastText, whose model takes 7 GB: its subwords of 3 to 6 letters, hashed to 300 numbers a
    column, untrained. Words that look alike are near; what they mean is not known.
    """
    hashed = HashingVectorizer(analyzer="char_wb", ngram_range=(3, 6), n_features=300)
    return [lambda words: sparse.hstack([hashed.transform(column) for column in words.T])] * len(parts)


SMOOTH = 10.0


def local_target(parts: Sequence[Rows]) -> list[Encode]:
    """Each cohort by the mean of its own targets at a word (equation 7, as it is meant)."""
    return [TargetEncoder(smooth=SMOOTH).fit(part.words, part.target).transform for part in parts]


def pooled_target(parts: Sequence[Rows]) -> list[Encode]:
    """`target`: the same mean over all cohorts."""
    words, target = (np.concatenate([getattr(part, name) for part in parts]) for name in ("words", "target"))
    return [TargetEncoder(smooth=SMOOTH).fit(words, target).transform] * len(parts)


BUCKETS, PRIME = 5000, 31


def rolling_hash(parts: Sequence[Rows]) -> list[Encode]:
    """All columns in one vector of 5,000. Only letters from a to z count: digits are nothing."""

    def place(word: str, _: int) -> float:
        letters = [ord(letter) - 96 if "a" <= letter <= "z" else 0 for letter in word.lower()]
        return sum(k * pow(PRIME, i, BUCKETS) for i, k in enumerate(letters, start=1)) % BUCKETS

    def encode(words: np.ndarray) -> Matrix:
        places, row = _each(words, place).astype(int), np.arange(len(words))
        columns = (np.ones(places.size), (np.repeat(row, words.shape[1]), places.ravel()))
        found = sparse.csr_matrix(columns, (len(words), BUCKETS))
        found.data[:] = 1
        return found

    return [encode] * len(parts)


def feature_hash(parts: Sequence[Rows]) -> list[Encode]:
    """`hash:256`: a word's place follows from all its bytes, and each column has places of its own."""
    hashed = FeatureHasher(256, input_type="string")
    return [lambda words: sparse.hstack([hashed.transform(column[:, None]) for column in words.T])] * len(
        parts
    )


@dataclass(frozen=True)
class System:
    title: str
    encode: Callable[[Sequence[Rows]], list[Encode]]
    f1: str
    """The paper's, of Adult."""
    ms: str
    """The paper's, with 4 and with 10 parties."""
    seconds: Callable[[Sequence[Rows]], float] | None = None


def systems() -> tuple[System, ...]:
    """The eight of the paper, what it compares them with, and what is here in their place."""
    return (
        System("all words to the server", pooled_one_hot, "0.69", ""),
        System("each cohort alone", local_one_hot, "0.60", "41 / 41"),
        System("UHE", ring_one_hot, "0.50", "264 / 636"),
        System("APSI → dictionary of codes", dictionary, "0.69", "28,280 / 227,524", searched(OWN)),
        System("OT-MP-PSI → dictionary", dictionary, "0.69", "63,673 / 148,776", searched(EVERYONE)),
        System("Bytes-Norm", as_bytes, "0.0", "89 / 111"),
        System("Mod-Norm", modulo, "0.30", "52 / 67"),
        System("FastText → n-grams", n_grams, "0.62", "20,799 / 20,799"),
        System("target, each cohort alone", local_target, "0.69", "183 / 183"),
        System("target, of the pool", pooled_target, "", ""),
        System("rolling hash", rolling_hash, "0.65", "853 / 853"),
        System("hash of each column", feature_hash, "", ""),
    )


# What comes of them


def dealt(rows: Rows, cohorts: int, random: np.random.Generator) -> np.ndarray:
    """The cohort of each row, int (n,). Of those from one place with one fate cohorts have very different
    shares: so they differ in words, in size, and in how many survived, as in the paper."""
    kind = np.array([f"{place} {fate}" for place, fate in zip(rows.words[:, -1], rows.target, strict=True)])
    return by_label(SKEW, Data(rows.numbers, kind), cohorts, random)


def f1(system: System, cohorts: int, seed: int) -> float:
    """Return F1 of the model of all cohorts' encoded words and scaled numbers, on rows that it has not seen.

    These come to all cohorts alike, whichever their place: dealt as the others, a column that only one cohort
    has would tell the model of its share of survivors.
    """
    random, rows = np.random.default_rng([seed, cohorts]), titanic()
    cohort = dealt(rows, cohorts, random)
    train, test = split(cohort, random)
    parts = [rows.some(train[cohort[train] == k]) for k in range(cohorts)]
    unseen = [rows.some(which) for which in np.array_split(random.permutation(test), cohorts)]
    encoders, scaler = system.encode(parts), together(Z_SCORE, [part.numbers for part in parts])
    x, y = (_features(own, encoders, scaler.transform) for own in (parts, unseen))
    model = LogisticRegression(max_iter=2000).fit(x, _targets(parts))
    return float(f1_score(_targets(unseen), model.predict(y)))


def _features(parts: Sequence[Rows], encoders: Sequence[Encode], scale: Encode) -> sparse.csr_matrix:
    """Each cohort's encoded words beside its scaled numbers; one that is missing is the mean."""
    words = [sparse.csr_matrix(encode(part.words)) for encode, part in zip(encoders, parts, strict=True)]
    numbers = [np.nan_to_num(np.asarray(scale(part.numbers))) for part in parts]
    return sparse.hstack([sparse.vstack(words), np.concatenate(numbers)], format="csr")


def _targets(parts: Sequence[Rows]) -> np.ndarray:
    return np.concatenate([part.target for part in parts])


def milliseconds(system: System, cohorts: int, count: int) -> float:
    """The processor's, from words to encoded rows, least of three; of a study that is run, of one."""
    random, rows = np.random.default_rng(cohorts), titanic()
    rows = rows.some(random.integers(0, len(rows.target), count))
    cohort = dealt(rows, cohorts, random)
    parts = [rows.some(cohort == k) for k in range(cohorts)]
    if system.seconds:
        return 1000 * system.seconds(parts)
    taken = []
    for _ in range(3):
        began = time.process_time()
        for part, encode in zip(parts, system.encode(parts), strict=True):
            encode(part.words)
        taken.append(time.process_time() - began)
    return 1000 * min(taken)


def lines(seeds: Sequence[int], count: int) -> Iterator[str]:
    """A row per system: F1, and milliseconds, with 4 and 10 cohorts, beside the paper's."""
    head = [f"F1, {n} cohorts" for n in COHORTS] + [f"ms, {n}" for n in COHORTS]
    yield f"| System | {' | '.join(head)} | Paper: F1 of Adult | Paper: ms, 4 / 10 |"
    yield "| --- |" + " ---: |" * (len(head) + 2)
    for system in systems():
        found = [f"{np.mean([f1(system, n, seed) for seed in seeds]):.2f}" for n in COHORTS]
        times = [milliseconds(system, n, count) for n in COHORTS]
        found += [f"{each:,.0f}" for each in times]
        yield f"| {system.title} | {' | '.join(found)} | {system.f1} | {system.ms} |"


def main() -> None:
    given = measuring.parser(__doc__).parse_args()
    seeds, count = (range(1), SMALL) if given.small else (SEEDS, ROWS)
    measuring.write(given.out, "encodings", lines(seeds, count))


if __name__ == "__main__":
    main()
