/** Numbers, sizes and times as people read them. */

import { perLanguage, t, wholeNumber } from "./language";

/** `1,234,567` */
export const count = wholeNumber;

/** A number with as many digits as it has, six after its point at most. */
export const decimal = (value: number): string => plain().format(value);

const plain = perLanguage((locale) => new Intl.NumberFormat(locale, { maximumFractionDigits: 6 }));

/** A number with so many digits after its point. */
export const fixed = (value: number, digits: number): string => decimals(digits)().format(value);

/** A number with so many significant digits, without groups. */
export const significant = (value: number, digits: number): string => precise(digits)().format(value);

const decimals = byDigits((digits) => ({ minimumFractionDigits: digits, maximumFractionDigits: digits }));
const precise = byDigits((digits) => ({
  minimumSignificantDigits: digits,
  maximumSignificantDigits: digits,
  useGrouping: false,
}));

/** Several sentences, one after the other; empty ones are left out. */
export const sentences = (...each: readonly string[]): string => each.filter(Boolean).join(" ");

/** Formats for each number of digits, made once for each language. */
function byDigits(options: (digits: number) => Intl.NumberFormatOptions) {
  const made = new Map<number, () => Intl.NumberFormat>();
  return (digits: number): (() => Intl.NumberFormat) => {
    const found = made.get(digits) ?? perLanguage((locale) => new Intl.NumberFormat(locale, options(digits)));
    made.set(digits, found);
    return found;
  };
}

const UNITS = ["kB", "MB", "GB", "TB"];

/** Bytes in powers of ten, with three digits: `71.2 MB`. */
export function bytes(value: number): string {
  if (value < 1000) return `${value} B`;
  let scaled = value / 1000;
  let unit = 0;
  while (scaled >= 999.5 && unit < UNITS.length - 1) {
    scaled /= 1000;
    unit += 1;
  }
  return `${significant(scaled, 3)} ${UNITS[unit] ?? ""}`;
}

/** A time span in its one or two largest units: `4 s`, `6 min`, `1 h 20 min`, `3 d 2 h`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (seconds > 0 && seconds < 0.1) return t("under {{seconds}} s", { seconds: fixed(0.1, 1) });
  if (seconds < 9.95 && seconds > 0 && !Number.isInteger(seconds)) return `${fixed(seconds, 1)} s`;
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return minutes < 10 && whole % 60 ? `${minutes} min ${whole % 60} s` : `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return hours % 24 ? `${Math.floor(hours / 24)} d ${hours % 24} h` : `${Math.floor(hours / 24)} d`;
}

/** How long ago something was, from a minute on without seconds: `4 s ago`, `9 min ago`. */
export function ago(time: string, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(time)) / 1000));
  return t("{{duration}} ago", { duration: duration(seconds < 60 ? seconds : seconds - (seconds % 60)) });
}

const moments = perLanguage(
  (locale) => new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium" }),
);

/** Date and time in the reader's own time zone. */
export const moment = (time: string): string => moments().format(new Date(time));

/** `Graz, Munich and Tartu`. */
export const list = (names: readonly string[]): string => lists().format(names);

const lists = perLanguage((locale) => new Intl.ListFormat(locale, { type: "conjunction" }));
