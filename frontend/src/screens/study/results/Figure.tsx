/** What every picture has: its frame, its width, a tip beside what is pointed at, and its files. */
import { useEffect, useRef, useState, type ReactNode, type RefObject } from "react";

import { Button } from "../../../ui/Button";
import { Refusal } from "../../../ui/Callout";
import { Row, Unseen } from "../../../ui/Layout";
import { savePng, saveSvg } from "./save";
import styles from "./Figure.module.css";

/** The width of an element in pixels, also after it has changed. */
export function useWidth(element: RefObject<HTMLElement | null>, before: number): number {
  const [width, setWidth] = useState(before);
  useEffect(() => {
    if (!element.current) return;
    const observer = new ResizeObserver(([entry]) => {
      // On paper the picture keeps its drawing, and is scaled as a whole.
      if (entry && !matchMedia("print").matches) setWidth(Math.max(240, Math.round(entry.contentRect.width)));
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
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
      setError(new Error("The picture could not be written. Save the SVG instead.", { cause: problem }));
    }
  };
  return (
    <>
      <Row>
        <Button onClick={() => save(saveSvg)}>
          Save SVG<Unseen> of the {about}</Unseen>
        </Button>
        <Button onClick={() => save(savePng)}>
          Save PNG<Unseen> of the {about}</Unseen>
        </Button>
      </Row>
      <Refusal error={error} />
    </>
  );
}

export const useFrame = () => useRef<HTMLDivElement>(null);
