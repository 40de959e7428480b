/** A figure of panels as one SVG that needs no style sheet. */

/** Millimetres of one column and of two, as journals print figures. */
export const WIDTHS = { one: 89, two: 183 } as const;
const PIXELS = 11; // of most texts in a picture, which are printed at the chosen number of points
const POINTS = 72; // to the inch
export const INCH = 25.4; // mm
const GAP = 14; // pixels between panels
const SHARES = 3; // of a row, of which a wide panel takes two
const LETTERS = "abcdefghijklmnopqrstuvwxyz";

const WRITTEN = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-opacity",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linecap",
  "stroke-linejoin",
  "paint-order",
  "opacity",
  "font-size",
  "text-anchor",
];

/** Pixels of a width in millimetres, where PIXELS are so many points. */
export const pixelsOf = (millimetres: number, points: number): number =>
  Math.round(((millimetres / INCH) * POINTS * PIXELS) / points);

export interface Place {
  x: number;
  width: number;
  row: number;
}

/** Where panels stand: each in a row of its own, or beside one another as many as a row has shares for. */
export function placed(isWide: readonly boolean[], width: number, isStacked: boolean): Place[] {
  const rows: number[][] = [];
  const sharesOf = (panel: number) => (isWide[panel] ? 2 : 1);
  const sum = (row: readonly number[]) => row.reduce((shares, panel) => shares + sharesOf(panel), 0);
  isWide.forEach((_, panel) => {
    const row = rows.at(-1);
    if (!isStacked && row && sum(row) + sharesOf(panel) <= SHARES) row.push(panel);
    else rows.push([panel]);
  });
  return rows.flatMap((panels, row) => {
    const share = (width - GAP * (panels.length - 1)) / sum(panels);
    let x = 0;
    return panels.map((panel) => {
      const place = { x: Math.round(x), width: Math.floor(share * sharesOf(panel)), row };
      x += share * sharesOf(panel) + GAP;
      return place;
    });
  });
}

export interface Composition {
  millimetres: number;
  width: number;
  font: string;
  /** Lines above the panels: a title in bold, and who is in them. */
  title: string;
  people: string;
  places: readonly Place[];
}

export interface Composed {
  source: string;
  /** Millimetres. */
  width: number;
  height: number;
}

/** Puts drawn pictures, which are in the page, together. */
export function composed(pictures: readonly SVGSVGElement[], of: Composition): Composed {
  const svg = element("svg", { "font-family": of.font, fill: "#000" });
  let y = 0;
  if (of.title) svg.append(text(of.title, 0, (y += 16), 14, true));
  if (of.people) svg.append(text(of.people, 0, (y += 16), 11));
  if (y) y += GAP;
  let [row, next] = [0, y];
  pictures.forEach((picture, k) => {
    const place = of.places[k];
    if (!place) return;
    if (place.row !== row) [row, y] = [place.row, next + GAP];
    const group = element("g", { transform: `translate(${place.x} ${y})` });
    group.append(...written(picture));
    if (pictures.length > 1) group.append(text(LETTERS[k] ?? "", 0, 13, 14, true));
    svg.append(group);
    next = Math.max(next, y + picture.viewBox.baseVal.height);
  });
  const height = Math.ceil(next);
  svg.prepend(element("rect", { width: of.width, height, fill: "#fff" }));
  const printed = { width: of.millimetres, height: (height / of.width) * of.millimetres };
  svg.setAttribute("viewBox", `0 0 ${of.width} ${height}`);
  svg.setAttribute("width", `${printed.width}mm`);
  svg.setAttribute("height", `${printed.height.toFixed(2)}mm`);
  return { source: new XMLSerializer().serializeToString(svg), ...printed };
}

/** Copies of what a picture holds, with every style written into them, without what is only for the screen. */
function written(picture: SVGSVGElement): Node[] {
  const copy = picture.cloneNode(true) as SVGSVGElement;
  const copies = copy.querySelectorAll("*");
  picture.querySelectorAll("*").forEach((original, k) => {
    const copied = copies[k];
    if (copied) writeStyles(getComputedStyle(original), copied);
  });
  copy.querySelectorAll("[data-screen]").forEach((each) => each.remove());
  return [...copy.childNodes];
}

function writeStyles(computed: CSSStyleDeclaration, copy: Element): void {
  for (const name of WRITTEN) {
    const value = computed.getPropertyValue(name);
    if (value && value !== "normal") copy.setAttribute(name, value);
  }
  // Fonts for print have two weights.
  if (Number(computed.fontWeight) >= 600) copy.setAttribute("font-weight", "bold");
  // Not every reader of SVG knows a shift in the size of letters.
  const shift = copy.getAttribute("dy");
  if (shift?.endsWith("em")) {
    const y = Number(copy.getAttribute("y")) + parseFloat(shift) * parseFloat(computed.fontSize);
    copy.setAttribute("y", y.toFixed(2));
    copy.removeAttribute("dy");
  }
  copy.removeAttribute("class");
  copy.removeAttribute("style");
}

function text(content: string, x: number, y: number, pixels: number, isBold = false): SVGElement {
  const made = element("text", { x, y, "font-size": `${pixels}px` });
  if (isBold) made.setAttribute("font-weight", "bold");
  made.textContent = content;
  return made;
}

function element(name: string, attributes: Record<string, string | number>): SVGElement {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [each, value] of Object.entries(attributes)) made.setAttribute(each, String(value));
  return made;
}
