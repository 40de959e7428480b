/** From one part of the axis to another in a fifth of a second, so that the eye can follow. */
import { useEffect, useRef, useState } from "react";

import type { Window } from "./genome";

const MILLISECONDS = 220;

/** The window at `t` of 0 to 1 on the way: its width changes by the same factor in the same time. */
export function between(from: Window, to: Window, t: number): Window {
  if (t >= 1) return to;
  const [before, after] = [from.to - from.from, to.to - to.from];
  const width = before ** (1 - t) * after ** t;
  const share = Math.abs(before - after) > 1e-6 * before ? (width - before) / (after - before) : t;
  const middle = (from.from + from.to) / 2 + share * ((to.from + to.to) / 2 - (from.from + from.to) / 2);
  return { from: middle - width / 2, to: middle + width / 2 };
}

const eased = (t: number): number => 1 - (1 - t) ** 3;

/** What is to be seen now, on the way to `target`; at once for those who want no motion. */
export function useGlide(target: Window): Window {
  const [shown, setShown] = useState(target);
  const now = useRef(target);
  const { from, to } = target;
  useEffect(() => {
    const [start, goal] = [now.current, { from, to }];
    if (start.from === from && start.to === to) return;
    const length = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : MILLISECONDS;
    let began = -1;
    let frame = requestAnimationFrame(function step(time: number) {
      if (began < 0) began = time;
      const t = length ? Math.min((time - began) / length, 1) : 1;
      now.current = between(start, goal, eased(t));
      setShown(now.current);
      if (t < 1) frame = requestAnimationFrame(step);
    });
    return () => cancelAnimationFrame(frame);
  }, [from, to]);
  return shown;
}
