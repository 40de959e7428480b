/** Numbers, sizes and times as people read them. */

const COUNT = new Intl.NumberFormat("en");

export const count = (value: number): string => COUNT.format(value);

/** `3 cohorts`, `1 cohort`. */
export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;

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
  return `${scaled.toPrecision(3)} ${UNITS[unit] ?? ""}`;
}

/** A time span in its one or two largest units: `4 s`, `6 min`, `1 h 20 min`, `3 d 2 h`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (seconds > 0 && seconds < 0.1) return "below 0.1 s";
  if (seconds < 9.95 && seconds > 0 && !Number.isInteger(seconds)) return `${seconds.toFixed(1)} s`;
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return minutes < 10 && whole % 60 ? `${minutes} min ${whole % 60} s` : `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return hours % 24 ? `${Math.floor(hours / 24)} d ${hours % 24} h` : `${Math.floor(hours / 24)} d`;
}

/** How long ago something was: `4 s ago`. */
export const ago = (time: string, now: number): string =>
  `${duration(Math.max(0, Math.round((now - Date.parse(time)) / 1000)))} ago`;

const MOMENT = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

/** Date and time in the reader's own time zone. */
export const moment = (time: string): string => MOMENT.format(new Date(time));

/** `Graz, Munich and Tartu`. */
export const list = (names: readonly string[]): string =>
  new Intl.ListFormat("en-GB", { type: "conjunction" }).format(names);
