/** What every picture has: its frame, its width, and a tip beside what is pointed at. */
import { useLayoutEffect, useRef, useState, type ReactNode, type RefObject } from "react";

import styles from "./Figure.module.css";

/**
 * The width of an element in pixels, also after it has changed; of an element that the asking component itself has:
 * it is measured before anything is painted.
 */
export function useWidth(element: RefObject<HTMLElement | null>, before: number): number {
  const [width, setWidth] = useState(before);
  useLayoutEffect(() => {
    if (!element.current) return;
    const take = (pixels: number) => setWidth(Math.max(240, Math.round(pixels)));
    take(element.current.getBoundingClientRect().width || before);
    const observer = new ResizeObserver(([entry]) => {
      // On paper the picture keeps its drawing, and is scaled as a whole.
      if (entry && !matchMedia("print").matches) take(entry.contentRect.width);
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element, before]);
  return width;
}

interface Tip {
  x: number;
  y: number;
  width: number;
  children: ReactNode;
}

const BESIDE = 14;

/** Beside a place in a picture, on the side that has room. */
export function TipBox({ x, y, width, children }: Tip) {
  const isRight = x > width / 2;
  const side = isRight ? { right: width - x + BESIDE } : { left: x + BESIDE };
  return (
    <div className={styles.tip} style={{ ...side, top: Math.max(0, y - 20) }}>
      {children}
    </div>
  );
}

/** Names and values in a tip. */
export function TipFacts({ facts }: { facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl>
      {facts.map(([name, value]) => (
        <div key={name} style={{ display: "contents" }}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export const useFrame = () => useRef<HTMLDivElement>(null);
