/** The Manhattan plot itself: pointing, dragging and keys. What it looks like is in ManhattanMarks. */
import { useMemo, useRef, useState, type KeyboardEvent, type PointerEvent } from "react";

import type { Schemas } from "../../../api/client";
import { Unseen } from "../../../ui/Layout";
import { measured, place, pValue } from "../../../words/genetics";
import { TipBox, TipFacts } from "./Figure";
import figure from "./Figure.module.css";
import { packed } from "./genes";
import { chromosomeOf, kept, regionOf, windowOf, type Genome, type Region } from "./genome";
import { useGlide } from "./glide";
import { across, axisAt, covers, marked, nearest, overviewLayer, regionLayer, type Point } from "./layer";
import styles from "./Manhattan.module.css";
import { ManhattanMarks, marginsOf, type GenesOfLeads } from "./ManhattanMarks";
import { meaning, moved, stepped } from "./moves";
import { MOST_ROWS, type TracksOf } from "./Tracks";
import { plural, t } from "../../../words/language";

interface Props {
  genome: Genome;
  overview: Schemas["Manhattan"];
  /** What the server told of regions, the newest first; the picture changes only when there is something finer. */
  regions: readonly Schemas["Region"][];
  region: Region | null;
  onRegion: (region: Region | null) => void;
  /** A variant that was asked for elsewhere. */
  wanted: { id: string; at: number; negLog10P: number } | null;
  /** What lies in the region, once it is known. */
  surroundings: Schemas["Surroundings"] | null;
  genes: GenesOfLeads;
  width: number;
  summary: string;
}

const DRAGGED = 5; // pixels; less is a click
const AROUND = 250_000; // bases to either side of a variant that was clicked
const CLOSER = 0.2; // of what is seen, where that is narrower

export function ManhattanPlot({
  genome,
  overview,
  regions,
  region,
  onRegion,
  wanted,
  surroundings,
  genes,
  width,
  summary,
}: Props) {
  const [pointed, setPointed] = useState<{ point: Point; byKey: boolean } | null>(null);
  const [drag, setDrag] = useState<{ from: number; to: number } | null>(null);
  const stage = useRef<HTMLDivElement>(null);
  const size = useMemo(() => sizeOf(width), [width]);
  const margins = marginsOf(width);
  const seen = useGlide(windowOf(genome, region));
  const whole = useMemo(() => overviewLayer(genome, overview, size), [genome, overview, size]);
  const finer = useMemo(
    () => regions.map((each) => regionLayer(genome, each, size)),
    [genome, regions, size],
  );
  const tracks = useMemo(
    () => tracksOf(genome, region, surroundings, size.width),
    [genome, region, surroundings, size.width],
  );
  const layer = finer.find((each) => covers(each, seen)) ?? whole;

  const go = (to: Region | null) => {
    setPointed(null);
    onRegion(to);
  };
  const lookAt = (point: Point) => {
    const half = region ? Math.min(AROUND, ((region.to - region.from) * CLOSER) / 2) : AROUND;
    const { chromosome, position } = point;
    go(kept(genome, { chromosome, from: position - half, to: position + half }));
  };
  const at = (event: PointerEvent): readonly [number, number] => {
    const box = stage.current?.getBoundingClientRect();
    return [event.clientX - (box?.left ?? 0) - margins.left, event.clientY - (box?.top ?? 0) - margins.top];
  };
  const inside = (x: number) => Math.max(0, Math.min(x, size.width));

  const onPointerDown = (event: PointerEvent<HTMLDivElement>) => {
    if (event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    const [x] = at(event);
    setDrag({ from: inside(x), to: inside(x) });
  };
  const onPointerMove = (event: PointerEvent) => {
    const [x, y] = at(event);
    if (drag) setDrag({ ...drag, to: inside(x) });
    const point = nearest(layer, seen, size.width, [x, y]);
    if (point !== pointed?.point) setPointed(point && { point, byKey: false });
  };
  const onPointerUp = () => {
    if (!drag) return;
    const [left, right] = [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)];
    setDrag(null);
    if (right - left < DRAGGED) {
      if (pointed) lookAt(pointed.point);
      return;
    }
    go(
      regionOf(genome, {
        from: axisAt(seen, size.width, left),
        to: axisAt(seen, size.width, right),
      }),
    );
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const meant = meaning(event.key);
    if (!meant) return;
    event.preventDefault();
    if (meant === "look") {
      if (pointed) lookAt(pointed.point);
    } else if ("move" in meant) {
      if (meant.move === "all" && (drag || pointed)) {
        setDrag(null); // first what lies on top goes away
        setPointed(null);
      } else go(moved(genome, region, meant.move));
    } else {
      const points = marked(layer, seen);
      const now = points.findIndex((point) => point.index === pointed?.point.index);
      const next = stepped(points.length, now < 0 ? null : now, meant.step);
      const point = next === null ? undefined : points[next];
      setPointed(point ? { point, byKey: true } : null);
    }
  };

  const tip = drag && Math.abs(drag.to - drag.from) >= DRAGGED ? null : pointed?.point;
  return (
    <>
      {/* A widget with keys of its own; every one of them has a button above it. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions */}
      <div
        ref={stage}
        className={`${figure.frame} ${styles.stage}`}
        role="application"
        aria-label={t(
          "Manhattan plot. Plus and minus zoom, left and right move, up and down step through the lead variants, Enter zooms in on one, Escape shows the whole genome.",
        )}
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        data-points={pointed !== null}
        onKeyDown={onKeyDown}
        onPointerDown={onPointerDown}
        onPointerMove={onPointerMove}
        onPointerUp={onPointerUp}
        onPointerCancel={() => setDrag(null)}
        onPointerLeave={() => !drag && setPointed(null)}
        onBlur={() => setPointed(null)}
      >
        <ManhattanMarks
          genome={genome}
          layer={layer}
          seen={seen}
          size={size}
          margins={margins}
          limits={overview}
          summary={summary}
          pointed={pointed?.point ?? wanted}
          wanted={wanted}
          drag={drag}
          tracks={tracks}
          genes={genes}
        />
        {tip && (
          <TipBox
            x={margins.left + across(seen, size.width, tip.at)}
            y={margins.top + layer.scale.y(tip.negLog10P)}
            width={width}
          >
            <About point={tip} effect={overview.effect} />
          </TipBox>
        )}
      </div>
      <div role="status">
        <Unseen>{pointed?.byKey ? said(pointed.point) : ""}</Unseen>
      </div>
    </>
  );
}

export function tracksOf(
  genome: Genome,
  region: Region | null,
  surroundings: Schemas["Surroundings"] | null,
  width: number,
): TracksOf | null {
  if (!region || !surroundings) return null;
  const start = chromosomeOf(genome, region.chromosome)?.start ?? 0;
  return { surroundings, start, packing: packed(surroundings.genes, region, width, MOST_ROWS) };
}

export function sizeOf(width: number) {
  const { left, right } = marginsOf(width);
  return { width: width - left - right, height: width < 600 ? 260 : 340 };
}

function About({ point, effect }: { point: Point; effect: string }) {
  const { alleles } = point;
  return (
    <>
      <p>
        {point.id || t("(no ID)")}
        {point.isLead && ` · ${t("lead variant")}`}
      </p>
      <TipFacts
        facts={[
          [t("Place"), place(point.chromosome, point.position)],
          ["P", pValue(point.negLog10P)],
          ...(point.r2 === null ? [] : [[t("r² with the lead"), measured(point.r2)] as const]),
          ...(point.pip === null ? [] : [["PIP", measured(point.pip)] as const]),
          ...(point.set === null ? [] : [[t("Credible set"), setInWords(point.set)] as const]),
          ...(alleles
            ? ([
                ["A1 / A2", `${alleles.a1} / ${alleles.a2}`],
                [t("Frequency of A1"), measured(alleles.frequency)],
                [t("{{effect}} of A1", { effect }), measured(alleles.effect)],
                [effect === "OR" ? t("SE of log OR") : t("SE"), measured(alleles.se)],
              ] as const)
            : []),
        ]}
      />
    </>
  );
}

const setInWords = ({ lead, number, variants }: Schemas["CredibleSet"]): string =>
  plural(
    variants,
    "{{number}} around {{lead}}, of {{n}} variant",
    "{{number}} around {{lead}}, of {{n}} variants",
    {
      number,
      lead,
    },
  );

const said = (point: Point): string =>
  t("{{id}}, {{where}}, P {{p}}. Enter zooms in.", {
    id: point.id,
    where: place(point.chromosome, point.position),
    p: pValue(point.negLog10P),
  });
