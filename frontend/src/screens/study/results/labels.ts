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
}

export const LETTER = 6.4; // pixels of a letter at 11 px, about
const LINE = 13;
const ABOVE = 8;

/** Labels above their marks; `marks` strongest first. One that would touch another,
 * hide a mark, or leave the plot, is left out. */
export function labelled(marks: readonly Mark[], width: number, most: number): Label[] {
  const set: Label[] = [];
  for (const mark of marks) {
    if (set.length >= most) break;
    const size = mark.text.length * LETTER;
    const anchor: Label["anchor"] =
      mark.x < size / 2 ? "start" : mark.x > width - size / 2 ? "end" : "middle";
    const left = mark.x - { start: 0, middle: size / 2, end: size }[anchor];
    const label: Label = { ...mark, y: mark.y - ABOVE, anchor, left };
    const touches = set.some(
      (other) =>
        left < other.left + other.text.length * LETTER + 4 &&
        other.left < left + size + 4 &&
        Math.abs(other.y - label.y) < LINE,
    );
    const hides = marks.some(
      ({ x, y }) => x > left - 4 && x < left + size + 4 && y > label.y - LINE && y < label.y + 2,
    );
    if (!touches && !hides && label.y > LINE - 4) set.push(label);
  }
  return set;
}
