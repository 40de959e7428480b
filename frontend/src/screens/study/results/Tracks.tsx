/** Below the plot of a region: where it recombines, and its genes. */
import { scaleLinear } from "d3-scale";
import { useId } from "react";

import type { Schemas } from "../../../api/client";
import figure from "./Figure.module.css";
import { barOf, nameOf, type Packing } from "./genes";
import type { Window } from "./genome";
import { across } from "./layer";
import styles from "./Tracks.module.css";
import { t } from "../../../words/language";

export const MOST_ROWS = 8;
/** Wider regions have no tracks: names of genes would fill the picture. */
export const WIDEST = 5_000_000; // bases

const ROW = 25; // pixels
const ABOVE = 16; // a track, for its title
const RATES = 44;
const PAD = 10; // below the plot's axis
const LEAST_RATE = 20; // cM/Mb, so that a quiet region looks quiet

export interface TracksOf {
  surroundings: Schemas["Surroundings"];
  packing: Packing;
  /** Where the chromosome begins on the axis. */
  start: number;
}

/** What the tracks need of a picture's height. */
export const heightOf = (tracks: TracksOf | null): number =>
  tracks
    ? PAD +
      (tracks.surroundings.recombination ? ABOVE + RATES + 8 : 0) +
      (tracks.surroundings.genes_source ? ABOVE + Math.max(1, tracks.packing.rows) * ROW : 0)
    : 0;

interface Props {
  tracks: TracksOf;
  seen: Window;
  width: number;
}

export function Tracks({ tracks: { surroundings, packing, start }, seen, width }: Props) {
  const clip = useId();
  const window = { from: seen.from - start, to: seen.to - start };
  const { recombination, genes_source: source } = surroundings;
  return (
    <g transform={`translate(0 ${PAD})`}>
      <clipPath id={clip}>
        <rect width={width} height={ABOVE + RATES} />
      </clipPath>
      {recombination && <Rates rates={recombination} window={window} width={width} clip={clip} />}
      {source && (
        <g transform={`translate(0 ${recombination ? ABOVE + RATES + 8 : 0})`}>
          <text className={styles.title} y={8}>
            {t("Genes")}
          </text>
          <Genes packing={packing} window={window} width={width} />
        </g>
      )}
    </g>
  );
}

function Genes({ packing, window, width }: { packing: Packing; window: Window; width: number }) {
  if (!packing.placed.length)
    return (
      <text className={figure.tick} x={width / 2} y={ABOVE + 12} textAnchor="middle">
        {packing.left.length ? t("Zoom in to see genes") : t("No gene here")}
      </text>
    );
  return packing.placed
    .filter(({ gene }) => gene.end >= window.from && gene.start <= window.to)
    .map(({ gene, row }) => {
      const { x, end, middle } = barOf(gene, window, width);
      const y = ABOVE + row * ROW;
      return (
        <g
          key={`${gene.name} ${gene.start}`}
          className={gene.kind === "coding" ? styles.coding : styles.other}
        >
          <text className={styles.name} x={middle} y={y + 9} textAnchor="middle">
            {nameOf(gene)}
          </text>
          <rect x={x} y={y + 13} width={end - x} height={5} rx={1} />
        </g>
      );
    });
}

interface RatesProps {
  rates: Schemas["Recombination"];
  window: Window;
  width: number;
  clip: string;
}

/** A line of steps: each rate holds up to the next position. */
function Rates({ rates, window, width, clip }: RatesProps) {
  const highest = rates.rate.reduce((most, rate) => Math.max(most, rate), LEAST_RATE);
  const y = scaleLinear([0, highest], [ABOVE + RATES, ABOVE]);
  const steps = rates.position.map((position, i) => {
    const x = across(window, width, position).toFixed(1);
    return `${i ? `H${x}V` : `M${x} `}${y(rates.rate[i] ?? 0).toFixed(1)}`;
  });
  return (
    <>
      <text className={styles.title} y={8}>
        {t("Recombination, cM/Mb")}
      </text>
      <path className={figure.axis} d={`M0 ${ABOVE}V${ABOVE + RATES}H${width}`} />
      {[0, Math.round(highest)].map((tick) => (
        <text key={tick} className={figure.tick} x={-8} y={y(tick)} dy="0.32em" textAnchor="end">
          {tick}
        </text>
      ))}
      <path className={styles.rates} d={`${steps.join("")}H${width}`} clipPath={`url(#${clip})`} />
    </>
  );
}
