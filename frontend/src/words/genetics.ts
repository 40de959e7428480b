/** P values, places and effects as geneticists write them. */

const SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹";

const superscript = (whole: number): string =>
  (whole < 0 ? "⁻" : "") +
  String(Math.abs(whole)).replace(/\d/g, (digit) => SUPERSCRIPT.charAt(Number(digit)));

/** P from its −log₁₀: `9.6 × 10⁻⁵²³`, `0.043`. Never 0, however small it is. */
export function pValue(negLog10: number | null | undefined, digits = 3): string {
  if (negLog10 === null || negLog10 === undefined) return "NA";
  if (negLog10 < 3) return (10 ** -negLog10).toPrecision(digits);
  const [mantissa = "", exponent = "0"] = (10 ** (Math.ceil(negLog10) - negLog10))
    .toExponential(digits - 1)
    .split("e");
  return `${mantissa} × 10${superscript(Number(exponent) - Math.ceil(negLog10))}`;
}

/** A power of ten with a small factor, such as a threshold: `5 × 10⁻⁸`, `10⁻⁵`. */
export function threshold(p: number): string {
  const [mantissa = "", exponent = "0"] = p.toExponential().split("e");
  const power = `10${superscript(Number(exponent))}`;
  return mantissa === "1" ? power : `${mantissa} × ${power}`;
}

const BASES = new Intl.NumberFormat("en");

/** `8:37,360,945` */
export const place = (chromosome: string, position: number): string =>
  `${chromosome}:${BASES.format(position)}`;

/** `37.16 – 37.56 Mb`, with as many digits as tell the ends apart. */
export function megabases(from: number, to: number): string {
  const digits = Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(Math.max(to - from, 1) / 1e6))));
  const [first, last] = [from, to].map((position) =>
    (position / 1e6).toLocaleString("en", { minimumFractionDigits: 0, maximumFractionDigits: digits }),
  );
  return `${first} – ${last} Mb`;
}

/** A length in bases: `400 kb`, `1.2 Mb`. */
export function span(bases: number): string {
  if (bases < 1e3) return `${BASES.format(bases)} b`;
  const [scaled, unit] = bases < 999_500 ? [bases / 1e3, "kb"] : [bases / 1e6, "Mb"];
  return `${BASES.format(Number(scaled.toPrecision(3)))} ${unit}`;
}

/** A measured number with so many significant digits, whole ones with all; `NA` if it is not known. */
export function measured(value: number | null | undefined, digits = 4): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "NA";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e8 || size < 1e-4) return scientific(value, digits);
  if (Number.isInteger(value) || size >= 10 ** digits) return String(Math.round(value));
  return value.toPrecision(digits);
}

function scientific(value: number, digits: number): string {
  const [mantissa = "", exponent = "0"] = value.toExponential(digits - 1).split("e");
  return `${mantissa} × 10${superscript(Number(exponent))}`;
}
