/** A composed figure as a file. */
import { saveBlob, saveText } from "../../../words/files";
import { INCH, type Composed } from "./composed";

/** A PNG's word for its dots to the inch: a chunk pHYs with dots to the metre, which follows a header of 33 bytes. */
const PHYSICAL = {
  300: [0, 0, 0, 9, 112, 72, 89, 115, 0, 0, 46, 35, 0, 0, 46, 35, 1, 120, 165, 63, 118],
  600: [0, 0, 0, 9, 112, 72, 89, 115, 0, 0, 92, 70, 0, 0, 92, 70, 1, 20, 148, 67, 65],
} as const;
const HEADER = 33;

export type Dots = keyof typeof PHYSICAL;

export const saveSvg = (name: string, { source }: Composed): void =>
  saveText(`${name}.svg`, source, "image/svg+xml");

export const addressOf = ({ source }: Composed): string =>
  `data:image/svg+xml;charset=utf-8,${encodeURIComponent(source)}`;

/** Drawn by the browser. */
export async function savePng(name: string, figure: Composed, dots: Dots): Promise<void> {
  const image = new Image();
  image.src = addressOf(figure);
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round((figure.width / INCH) * dots);
  canvas.height = Math.round((figure.height / INCH) * dots);
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done));
  if (!blob) throw new Error("this browser cannot write a PNG");
  const parts = [blob.slice(0, HEADER), new Uint8Array(PHYSICAL[dots]), blob.slice(HEADER)];
  saveBlob(`${name}.png`, new Blob(parts, { type: "image/png" }));
}

/** What writes a PDF is loaded when the first is saved. */
export async function savePdf(name: string, figure: Composed, font: "sans" | "serif"): Promise<void> {
  const { pdfOf } = await import("./pdf");
  saveBlob(`${name}.pdf`, await pdfOf(figure, font));
}
