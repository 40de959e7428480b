/** A composed figure as PDF, whose texts stay texts: in fonts as wide as Arial and Times, which have every sign. */
import sansBold from "@expo-google-fonts/arimo/700Bold/Arimo_700Bold.ttf?url";
import sans from "@expo-google-fonts/arimo/400Regular/Arimo_400Regular.ttf?url";
import serifBold from "@expo-google-fonts/tinos/700Bold/Tinos_700Bold.ttf?url";
import serif from "@expo-google-fonts/tinos/400Regular/Tinos_400Regular.ttf?url";
import { jsPDF } from "jspdf";
import { svg2pdf } from "svg2pdf.js";

import type { Composed } from "./composed";

const FILES = { sans: { normal: sans, bold: sansBold }, serif: { normal: serif, bold: serifBold } };
const FONT = "figure";

export async function pdfOf({ source, width, height }: Composed, font: keyof typeof FILES): Promise<Blob> {
  const orientation = width > height ? "landscape" : "portrait";
  const pdf = new jsPDF({ unit: "mm", format: [width, height], orientation, compress: true });
  for (const [style, address] of Object.entries(FILES[font])) {
    pdf.addFileToVFS(style, binary(await (await fetch(address)).arrayBuffer()));
    pdf.addFont(style, FONT, style);
  }
  const svg = new DOMParser().parseFromString(source, "image/svg+xml").documentElement;
  svg.setAttribute("font-family", FONT);
  // PDF knows no order of paints: a halo would lie upon its letters.
  svg.querySelectorAll("[paint-order=stroke]").forEach((text) => text.setAttribute("stroke", "none"));
  await svg2pdf(svg, pdf, { width, height });
  return pdf.output("blob");
}

/** Bytes as a string with a character for each. */
function binary(bytes: ArrayBuffer): string {
  let found = "";
  for (const byte of new Uint8Array(bytes)) found += String.fromCharCode(byte);
  return found;
}
