/** A figure as a file: as it is on the screen, on white, with every style written into it. */
import { saveBlob, saveText } from "../../../words/files";
import styles from "./Figure.module.css";

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
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
];
// Millimetres of one column and of two, as journals print figures, and what is wider on the screen than one.
const COLUMN = 89;
const COLUMNS = 183;
const ONE_COLUMN = 560;
const DOTS = 600; // of a PNG, to the inch
// The PNG's own word for that, after its header of 33 bytes: a chunk pHYs with 23,622 dots to the metre.
const PHYSICAL = new Uint8Array([
  0, 0, 0, 9, 112, 72, 89, 115, 0, 0, 92, 70, 0, 0, 92, 70, 1, 20, 148, 67, 65,
]);
const HEADER = 33;

const millimetres = (svg: SVGSVGElement): number =>
  svg.viewBox.baseVal.width > ONE_COLUMN ? COLUMNS : COLUMN;

/** The source of a figure that needs no style sheet; what is marked `data-screen` is only for the screen. */
export function sourceOf(svg: SVGSVGElement, unit: "mm" | "px"): string {
  const paper = document.createElement("div");
  paper.className = styles.paper ?? "";
  paper.dataset.paper = ""; // light, whatever the page is
  const copy = svg.cloneNode(true) as SVGSVGElement;
  copy.querySelectorAll("[data-screen]").forEach((element) => element.remove());
  paper.append(copy);
  document.body.append(paper);
  for (const element of [copy, ...copy.querySelectorAll("*")]) writeStyles(element);
  paper.remove();
  const { width, height } = svg.viewBox.baseVal;
  const white = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of Object.entries({ width, height, fill: "#fff" })) {
    white.setAttribute(name, String(value));
  }
  copy.prepend(white);
  const scale = unit === "mm" ? millimetres(svg) / width : 1;
  for (const [name, value] of Object.entries({ width, height })) {
    copy.setAttribute(name, `${Number((scale * value).toFixed(2))}${unit}`);
  }
  return new XMLSerializer().serializeToString(copy);
}

function writeStyles(element: Element): void {
  const computed = getComputedStyle(element);
  for (const name of WRITTEN) {
    const value = computed.getPropertyValue(name);
    if (value) element.setAttribute(name, value);
  }
  element.removeAttribute("class");
  element.removeAttribute("style");
}

export const saveSvg = (name: string, svg: SVGSVGElement): void =>
  saveText(`${name}.svg`, sourceOf(svg, "mm"), "image/svg+xml");

/** As PNG, drawn by the browser. */
export async function savePng(name: string, svg: SVGSVGElement): Promise<void> {
  const { width, height } = svg.viewBox.baseVal;
  const scale = ((millimetres(svg) / 25.4) * DOTS) / width;
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(sourceOf(svg, "px"))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done));
  if (!blob) throw new Error("this browser cannot write a PNG");
  const parts = [blob.slice(0, HEADER), PHYSICAL, blob.slice(HEADER)];
  saveBlob(`${name}.png`, new Blob(parts, { type: "image/png" }));
}
