/** P values, places and effects as geneticists write them. */
import { count, decimal, fixed, significant } from "./format";
import { t } from "./language";

const SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹";

const superscript = (whole: number): string =>
  (whole < 0 ? "⁻" : "") +
  String(Math.abs(whole)).replace(/\d/g, (digit) => SUPERSCRIPT.charAt(Number(digit)));

/** P from its −log₁₀: `9.6 × 10⁻⁵²³`, `0.043`. Never 0, however small it is. */
export function pValue(negLog10: number | null | undefined, digits = 3): string {
  if (negLog10 === null || negLog10 === undefined) return "NA";
  if (negLog10 < 3) return significant(10 ** -negLog10, digits);
  const [mantissa = "", exponent = "0"] = (10 ** (Math.ceil(negLog10) - negLog10))
    .toExponential(digits - 1)
    .split("e");
  return `${significant(Number(mantissa), digits)} × 10${superscript(Number(exponent) - Math.ceil(negLog10))}`;
}

/** The same from a text such as `9.59e-523`, which may be smaller than a number can be. */
export function pOf(text: string | null): string {
  if (text === null) return pValue(null);
  const [mantissa = "", exponent = "0"] = text.split("e");
  return pValue(-Math.log10(Number(mantissa)) - Number(exponent));
}

/** The genomic inflation λ, everywhere with three decimals. */
export const inflation = (value: number | null): string =>
  value === null ? t("not known") : fixed(value, 3);

/** A power of ten with a small factor, such as a threshold: `5 × 10⁻⁸`, `10⁻⁵`. */
export function threshold(p: number): string {
  const [mantissa = "", exponent = "0"] = p.toExponential().split("e");
  const power = `10${superscript(Number(exponent))}`;
  return mantissa === "1" ? power : `${decimal(Number(mantissa))} × ${power}`;
}

/** `8:37,360,945` */
export const place = (chromosome: string, position: number): string => `${chromosome}:${count(position)}`;

/** `37.16 – 37.56 Mb`, with as many digits as tell the ends apart. */
export function megabases(from: number, to: number): string {
  const digits = Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(Math.max(to - from, 1) / 1e6))));
  const [first, last] = [from, to].map((position) => decimal(Number((position / 1e6).toFixed(digits))));
  return `${first} – ${last} Mb`;
}

/** A length in bases: `400 kb`, `1.2 Mb`. */
export function span(bases: number): string {
  if (bases < 1e3) return `${count(bases)} b`;
  const [scaled, unit] = bases < 999_500 ? [bases / 1e3, "kb"] : [bases / 1e6, "Mb"];
  return `${decimal(Number(scaled.toPrecision(3)))} ${unit}`;
}

/** A measured number with so many significant digits, whole ones with all; `NA` if it is not known. */
export function measured(value: number | null | undefined, digits = 4): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "NA";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e8 || size < 1e-4) return scientific(value, digits);
  if (Number.isInteger(value) || size >= 10 ** digits) return String(Math.round(value));
  return significant(value, digits);
}

function scientific(value: number, digits: number): string {
  const [mantissa = "", exponent = "0"] = value.toExponential(digits - 1).split("e");
  return `${significant(Number(mantissa), digits)} × 10${superscript(Number(exponent))}`;
}

/** Confidence limits of an effect: `0.91 to 1.2`. */
export const limits = ({ lower, upper }: { lower: number | null; upper: number | null }): string =>
  lower === null || upper === null
    ? "NA"
    : t("{{lower}} to {{upper}}", { lower: measured(lower), upper: measured(upper) });
