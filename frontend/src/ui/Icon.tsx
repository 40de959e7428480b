import type { IconName } from "../words/states";

/** Shapes on a grid of 16; each differs from the others without its colour. */
const SHAPES: Record<IconName, string> = {
  draft: "M3 13l.6-3L10.5 3.1a1.2 1.2 0 0 1 1.7 0l.7.7a1.2 1.2 0 0 1 0 1.7L6 12.4zM9 5l2.5 2.5",
  waiting: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11z",
  half: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 3v10a5 5 0 0 0 0-10z",
  run: "M5 3l8 5-8 5z",
  pause: "M5 3v10M11 3v10",
  check: "M3 8.5L6.5 12 13 4.5",
  stop: "M4 4h8v8H4z",
  cross: "M4 4l8 8M12 4l-8 8",
  alert: "M8 2.5L14.5 13.5h-13zM8 6.5v3.5M8 11.8v.2",
};

const FILLED = new Set<IconName>(["run", "stop", "half"]);

export function Icon({ name }: { name: IconName }) {
  return (
    <svg viewBox="0 0 16 16" width="1em" height="1em" aria-hidden="true" focusable="false">
      <path
        d={SHAPES[name]}
        fill={FILLED.has(name) ? "currentColor" : "none"}
        fillOpacity={name === "half" ? 0.35 : 1}
        stroke="currentColor"
        strokeWidth={name === "pause" ? 2.5 : 1.8}
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}
