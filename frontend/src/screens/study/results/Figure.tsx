/** What every picture has: its frame, its width, a tip beside what is pointed at, and its files. */
import { useLayoutEffect, useRef, useState, type ReactNode, type RefObject } from "react";

import { Button } from "../../../ui/Button";
import { Refusal } from "../../../ui/Callout";
import { Menu } from "../../../ui/Menu";
import { savePng, saveSvg } from "./save";
import styles from "./Figure.module.css";
import { Rich } from "../../../ui/Rich";
import { t } from "../../../words/language";

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

/** Saves the picture that `frame` holds. */
export function SaveFigure({
  frame,
  name,
  about,
}: {
  frame: RefObject<HTMLElement | null>;
  name: string;
  about: string;
}) {
  const [error, setError] = useState<Error | null>(null);
  const save = async (write: (name: string, svg: SVGSVGElement) => void | Promise<void>) => {
    const svg = frame.current?.querySelector("svg");
    if (!svg) return;
    try {
      await write(name, svg);
      setError(null);
    } catch (problem) {
      setError(new Error(t("The picture could not be written. Save the SVG instead."), { cause: problem }));
    }
  };
  return (
    <>
      <Menu title={<Rich text="Save picture<unseen>: {{about}}</unseen>" values={{ about }} />}>
        <Button look="quiet" onClick={() => save(saveSvg)}>
          <Rich text="Save SVG<unseen> of the {{about}}</unseen>" values={{ about }} />
        </Button>
        <Button look="quiet" onClick={() => save(savePng)}>
          <Rich text="Save PNG<unseen> of the {{about}}</unseen>" values={{ about }} />
        </Button>
      </Menu>
      <Refusal error={error} />
    </>
  );
}

export const useFrame = () => useRef<HTMLDivElement>(null);
