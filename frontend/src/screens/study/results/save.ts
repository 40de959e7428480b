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
const WIDEST = 2400; // pixels of a PNG, enough for print

/** The source of a figure that needs no style sheet; what is marked `data-screen` is only for the screen. */
export function sourceOf(svg: SVGSVGElement): string {
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
  for (const [name, value] of Object.entries({ width, height })) copy.setAttribute(name, String(value));
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
  saveText(`${name}.svg`, sourceOf(svg), "image/svg+xml");

/** As PNG, drawn by the browser. */
export async function savePng(name: string, svg: SVGSVGElement): Promise<void> {
  const { width, height } = svg.viewBox.baseVal;
  const scale = Math.max(1, WIDEST / width);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(sourceOf(svg))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done));
  if (!blob) throw new Error("this browser cannot write a PNG");
  saveBlob(`${name}.png`, blob);
}
