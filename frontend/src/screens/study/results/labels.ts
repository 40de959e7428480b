/** Which marks get their name written beside them: the strongest first, as long as there is room. */

export interface Mark {
  x: number;
  y: number;
  text: string;
}

export interface Label extends Mark {
  /** Where the text is held. */
  anchor: "start" | "middle" | "end";
  left: number;
  /** The mark that a line leads to, where the label is not right above it. */
  from: Mark | null;
}

export const LETTER = 6.4; // pixels of a letter at 11 px, about
const BOLD = 7.8; // as wide as capitals of genes are in the widest of the fonts
const LINE = 13;
const ABOVE = 8;
const ASIDE = 24; // from the mark to the end of a label that stands beside it

const PLACES = [0, 1, 2].flatMap((line) => [0, 1, -1].map((aside) => ({ line, aside })));

/** Labels above their marks, or nearby with a line to them; `marks` strongest first. One that would touch
 * another everywhere, hide a mark, or leave the plot, is left out. */
export function labelled(marks: readonly Mark[], width: number, most: number): Label[] {
  const set: Label[] = [];
  const isFree = ({ left, text, y }: Label): boolean => {
    const right = left + text.length * BOLD + 8;
    const touches = set.some(
      (other) =>
        left < other.left + other.text.length * BOLD + 8 &&
        other.left < right &&
        Math.abs(other.y - y) < LINE,
    );
    const hides = marks.some(
      (mark) => mark.x > left - 4 && mark.x < right && mark.y > y - LINE && mark.y < y + 2,
    );
    return !touches && !hides && y > LINE - 4;
  };
  for (const mark of marks) {
    if (set.length >= most) break;
    const label = PLACES.map((place) => labelAt(mark, width, place)).find(isFree);
    if (label) set.push(label);
  }
  return set;
}

function labelAt(mark: Mark, width: number, { line, aside }: { line: number; aside: number }): Label {
  const size = mark.text.length * BOLD;
  const x = Math.max(0, Math.min(mark.x + aside * (size / 2 + ASIDE), width));
  const anchor = x < size / 2 ? "start" : x > width - size / 2 ? "end" : "middle";
  const left = x - { start: 0, middle: size / 2, end: size }[anchor];
  return { ...mark, x, y: mark.y - ABOVE - line * LINE, anchor, left, from: line || aside ? mark : null };
}
