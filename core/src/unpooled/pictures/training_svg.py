"""The training of a network, drawn as SVG: loss, or the share of right predictions, by round."""

from __future__ import annotations

from collections.abc import Sequence

from unpooled.pages.page import Html, tag
from unpooled.pictures.drawing import plot, short, text, ticks

_FRAME = ((640, 320), 64, 24)
_WIDTH, _HEIGHT = 540, 240
_ROUNDS = 5


def losses(fitted: Sequence[float], held_out: Sequence[float], best: int) -> Html:
    """Draw the mean loss of the rows that a network is fitted to, and that of those left out.

    What is above both losses of the start values, as a trial step may be, is drawn at the upper end.
    """
    most = max(fitted[0], held_out[0]) * 1.05 or 1.0
    said = f"Loss by round: {fitted[0]:.3g} at the start, {fitted[best]:.3g} after {best} rounds; "
    said += f"in the rows that are left out {held_out[0]:.3g} and {held_out[best]:.3g}."
    lines = [("even", fitted, "of the rows that it is fitted to"), ("odd", held_out, "of those left out")]
    return _drawn(said, "Loss", most, lines, best)


def shares(right: Sequence[float], best: int) -> Html:
    """Draw the share of rows whose class is predicted."""
    said = f"Share of classes predicted: {right[0]:.3f} at the start, {right[best]:.3f} after {best} rounds."
    return _drawn(said, "Share predicted", 1.0, [("even", right, "of the rows left out")], best, _HEIGHT - 30)


def _drawn(
    said: str,
    title: str,
    most: float,
    lines: Sequence[tuple[str, Sequence[float], str]],
    best: int,
    key: float = 10,
) -> Html:
    """A curve for each of the lines: its class, its values by round, and what they are of."""
    rounds = max(1, len(lines[0][1]) - 1)

    def x(k: float) -> float:
        return k / rounds * _WIDTH

    def y(value: float) -> float:
        return _HEIGHT * (1 - min(value, most) / most)

    marks, grid = ticks(most, 5), [tick for tick in ticks(rounds, _ROUNDS) if tick == int(tick)]
    paths = [
        tag(
            "path", class_=kind, style="stroke-width:2", d=_path([(x(k), y(v)) for k, v in enumerate(values)])
        )
        for kind, values, _ in lines
    ]
    keys = [
        part
        for k, (kind, _, words) in enumerate(lines)
        for part in (
            tag("path", class_=kind, d=f"M{_WIDTH - 260} {key + 18 * k}h24"),
            text(words, _WIDTH - 228, key + 4 + 18 * k),
        )
    ]
    return plot(
        said,
        _FRAME,
        tag("path", class_="grid", d="".join(f"M0 {short(y(tick))}H{_WIDTH}" for tick in marks)),
        tag("path", class_="expected", d=f"M{short(x(best))} 0V{_HEIGHT}"),
        *paths,
        tag("path", class_="axis", d=f"M0 0V{_HEIGHT}H{_WIDTH}"),
        *(text(f"{tick:.4g}", -8, y(tick) + 4, anchor="end") for tick in marks),
        *(text(f"{tick:g}", x(tick), _HEIGHT + 18, anchor="middle") for tick in grid),
        *keys,
        text(title, -8, -10, class_="title"),
        text("Rounds", _WIDTH / 2, _HEIGHT + 38, "middle", "title"),
    )


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{short(x)} {short(y)}" for x, y in points)
