/** What a Manhattan plot looks like: a dozen elements for any number of variants. */
import { scaleLinear } from "d3-scale";
import { memo, useId } from "react";

import { decimal, fixed } from "../../../words/format";
import { threshold } from "../../../words/genetics";
import figure from "./Figure.module.css";
import { FOLD } from "./fold";
import type { Genome, Window } from "./genome";
import { labelled, LETTER, type Mark } from "./labels";
import { across, BOUNDS, onto, strongest, type Layer, type Size } from "./layer";
import styles from "./Manhattan.module.css";
import { diamond, dot } from "./paths";
import { heightOf, Tracks, type TracksOf } from "./Tracks";
import { t } from "../../../words/language";

interface Margins {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

const CAPITAL = 8; // pixels, the height of a capital letter at 11 px
const DIAMOND = 6; // pixels from its middle to a corner
const MANY = 60; // lead variants, of which each gets less room

export const marginsOf = (width: number): Margins => ({
  left: width < 600 ? 34 : 44,
  right: 60, // for the names of the limits
  top: 26,
  bottom: 46,
});

interface Props {
  genome: Genome;
  layer: Layer;
  /** The part of the axis that is shown. */
  seen: Window;
  size: Size;
  margins: Margins;
  limits: { genome_wide: number; suggestive: number };
  summary: string;
  pointed: { at: number; negLog10P: number } | null;
  wanted: { id: string; at: number; negLog10P: number } | null;
  drag: { from: number; to: number } | null;
  tracks: TracksOf | null;
  genes: GenesOfLeads;
}

/** Names of the genes next to lead variants, by the number of the variant. */
export type GenesOfLeads = ReadonlyMap<number, string>;

export function ManhattanMarks({
  genome,
  layer,
  seen,
  size,
  margins,
  limits,
  summary,
  pointed,
  wanted,
  drag,
  tracks,
  genes,
}: Props) {
  const clip = useId();
  const transform = onto(layer, seen, size.width);
  const { width, height } = size;
  const { left, right, top, bottom } = margins;
  const [fullWidth, fullHeight] = [left + width + right, top + height + bottom + heightOf(tracks)];
  return (
    <svg role="img" aria-label={summary} viewBox={`0 0 ${fullWidth} ${fullHeight}`}>
      <clipPath id={clip}>
        {/* Marks at the edge are whole. */}
        <rect x={-5} y={-top} width={width + 10} height={top + height + 4} />
      </clipPath>
      <g transform={`translate(${left} ${top})`}>
        <Stripes genome={genome} seen={seen} size={size} />
        <Heights layer={layer} size={size} />
        {layer.isLinked && <Linkage width={width} />}
        {layer.credible && width >= WIDE && <Halo x={width - (BOUNDS.length + 2) * SWATCH} />}
        <g clipPath={`url(#${clip})`}>
          <Limits layer={layer} size={size} limits={limits} isBehind />
          <g transform={transform} className={transform && styles.moving}>
            <path className={styles.credible} d={layer.credible} />
            <Marks even={layer.even} odd={layer.odd} linked={layer.linked} />
          </g>
          <Leads layer={layer} seen={seen} size={size} wanted={wanted} genes={genes} />
          {pointed && (
            <circle
              className={styles.ring}
              cx={across(seen, width, pointed.at)}
              cy={layer.scale.y(pointed.negLog10P)}
              r={8}
              data-screen
            />
          )}
        </g>
        <Limits layer={layer} size={size} limits={limits} />
        <Places genome={genome} seen={seen} size={size} />
        {tracks && (
          <g transform={`translate(0 ${height + bottom})`}>
            <Tracks tracks={tracks} seen={seen} width={width} />
          </g>
        )}
        {drag && (
          <rect
            className={styles.drag}
            x={Math.min(drag.from, drag.to)}
            width={Math.abs(drag.to - drag.from)}
            height={height}
            data-screen
          />
        )}
      </g>
    </svg>
  );
}

/** All that is not a lead. It is as long as its layer is, however the window moves. */
export const Marks = memo(function Marks({ even, odd, linked }: Pick<Layer, "even" | "odd" | "linked">) {
  return (
    <>
      <path className={styles.even} d={even} />
      <path className={styles.odd} d={odd} />
      {linked.map((path, strength) => (
        <path key={strength} className={styles.linked} data-strength={strength} d={path} />
      ))}
    </>
  );
});

const SWATCH = 30; // pixels, with its number
const WIDE = 440; // pixels that have room for two legends

/** What the colours of a region mean, above it at the right; the caption says with which variant. */
function Linkage({ width }: { width: number }) {
  return (
    <g transform={`translate(${width - (BOUNDS.length + 1) * SWATCH} -13)`}>
      <text className={figure.tick} x={-6} textAnchor="end">
        r²
      </text>
      {[0, ...BOUNDS].map((bound, strength) => (
        <g key={bound} transform={`translate(${strength * SWATCH} 0)`}>
          <path className={styles.linked} data-strength={strength} d={dot(6, -4)} />
          <text className={figure.tick} x={12}>
            {decimal(bound)}
          </text>
        </g>
      ))}
    </g>
  );
}

/** What a halo means, beside the colours. */
function Halo({ x }: { x: number }) {
  return (
    <g transform={`translate(${x} -13)`}>
      <text className={figure.tick} x={-24} textAnchor="end">
        {t("in a credible set")}
      </text>
      <path className={styles.credible} d={dot(-10, -4)} />
    </g>
  );
}

/** Every other chromosome stands on a stripe: colour is not all that tells neighbours apart. */
export function Stripes({
  genome,
  seen,
  size: { width, height },
}: {
  genome: Genome;
  seen: Window;
  size: Size;
}) {
  return genome.chromosomes.map(({ name, start, last }, number) => {
    const x = Math.max(0, across(seen, width, start));
    const end = Math.min(width, across(seen, width, start + last));
    if (number % 2 === 0 || end <= x) return null;
    return <rect key={name} className={styles.stripe} x={x} width={end - x} height={height} />;
  });
}

export function Heights({
  layer: { scale },
  size: { width, height },
  isDown = false,
}: {
  layer: Layer;
  size: Size;
  isDown?: boolean;
}) {
  return (
    <>
      <path
        className={figure.grid}
        d={scale.ticks
          .filter(Boolean)
          .map((tick) => `M0 ${scale.y(tick)}H${width}`)
          .join("")}
      />
      {scale.isFolded && <path className={styles.fold} d={`M0 ${scale.y(FOLD)}H${width}`} />}
      <path
        className={figure.axis}
        d={scale.isFolded ? broken(height, scale.y(FOLD), isDown) : `M0 0V${height}`}
      />
      {scale.ticks.map((tick) => (
        <text key={tick} className={figure.tick} x={-8} y={scale.y(tick)} dy="0.32em" textAnchor="end">
          {decimal(tick)}
        </text>
      ))}
      <text className={figure.title} x={-8} y={isDown ? height + 20 : -13} textAnchor="start">
        {scale.isFolded ? t("−log₁₀ P, folded above {{fold}}", { fold: FOLD }) : "−log₁₀ P"}
      </text>
    </>
  );
}

/** An axis with a break just beyond the fold. */
function broken(height: number, fold: number, isDown: boolean): string {
  const from = isDown ? fold : fold - 10;
  return `M0 0V${from}l-4 2l8 3l-8 3l4 2V${height}`;
}

export function Limits({
  layer: { scale },
  size: { width },
  limits,
  isBehind = false,
}: {
  layer: Layer;
  size: Size;
  limits: Props["limits"];
  isBehind?: boolean;
}) {
  // Their names are in the caption.
  const lines = [
    [limits.genome_wide, styles.genomeWide, "genome-wide"],
    [limits.suggestive, styles.suggestive, "suggestive"],
  ] as const;
  return lines.map(([p, look, name]) => {
    const y = scale.y(-Math.log10(p));
    if (isBehind) return <path key={name} className={look} d={`M0 ${y}H${width}`} />;
    return (
      <text key={name} className={styles.limit} x={width + 6} y={y} dy="0.32em">
        <title>{name}</title>
        {threshold(p)}
      </text>
    );
  });
}

export function Leads({
  layer,
  seen,
  size: { width, height },
  wanted,
  genes,
  isDown = false,
}: {
  layer: Layer;
  seen: Window;
  size: Size;
  wanted: Props["wanted"];
  genes?: GenesOfLeads;
  isDown?: boolean;
}) {
  const isSeen = ({ at }: { at: number }) => at >= seen.from && at <= seen.to;
  const mark = (text: string, { at, negLog10P }: { at: number; negLog10P: number }): Mark => ({
    text,
    x: across(seen, width, at),
    y: layer.scale.y(negLog10P),
  });
  const leads = strongest(layer.points.filter((point) => point.isLead && isSeen(point)));
  const diamonds = leads.map((lead) => mark(genes?.get(lead.index) || lead.id, lead));
  // The variant that was asked for is named before all others, be it a lead or not.
  const turn = (y: number) => (isDown ? height - y : y);
  const named =
    wanted && isSeen(wanted)
      ? [mark(wanted.id, wanted), ...diamonds.filter(({ x }) => x !== across(seen, width, wanted.at))]
      : diamonds;
  return (
    <>
      <path
        className={styles.lead}
        d={diamonds.map(({ x, y }) => diamond(x, y, leads.length > MANY ? 4 : DIAMOND)).join("")}
      />
      {labelled(
        named.map((each) => ({ ...each, y: turn(each.y) })),
        width,
        Math.ceil(width / 45),
      ).map(({ text, x, y, anchor, from }, number) => (
        <g key={number}>
          {from && (
            <path className={styles.leader} d={`M${from.x} ${turn(from.y - DIAMOND)}L${x} ${turn(y + 2)}`} />
          )}
          <text className={styles.label} x={x} y={isDown ? turn(y) + CAPITAL : y} textAnchor={anchor}>
            {text}
          </text>
        </g>
      ))}
    </>
  );
}

/** Below the plot: chromosomes, or positions within the one that is seen. */
function Places({ genome, seen, size: { width, height } }: { genome: Genome; seen: Window; size: Size }) {
  const inside = genome.chromosomes.find(
    ({ start, last }) => seen.from >= start - 0.5 && seen.to <= start + last + 0.5,
  );
  const ticks = inside ? positions(seen, inside.start, width) : chromosomes(genome, seen, width);
  return (
    <g transform={`translate(0 ${height})`}>
      <path
        className={figure.axis}
        d={`M0 0H${width}${ticks.map(({ x, isMark }) => (isMark ? `M${x} 0v5` : "")).join("")}`}
      />
      {ticks.map(({ x, y, text }) => (
        <text key={text} className={figure.tick} x={x} y={y} textAnchor="middle">
          {text}
        </text>
      ))}
      <text className={figure.title} x={width / 2} y={42} textAnchor="middle">
        {inside ? t("Position on chromosome {{name}}, Mb", { name: inside.name }) : t("Chromosome")}
      </text>
    </g>
  );
}

interface Tick {
  x: number;
  y: number;
  text: string;
  isMark: boolean;
}

function positions(seen: Window, start: number, width: number): Tick[] {
  const scale = scaleLinear([(seen.from - start) / 1e6, (seen.to - start) / 1e6], [0, width]);
  const most = Math.max(2, Math.floor(width / 90));
  const format = scale.tickFormat(most);
  const digits = (tick: number): number => format(tick).split(".")[1]?.length ?? 0;
  return scale.ticks(most).map((tick) => ({
    x: scale(tick),
    y: ROWS[0],
    text: fixed(tick, digits(tick)),
    isMark: true,
  }));
}

const ROWS = [17, 29] as const; // pixels below the axis, of the names of chromosomes

/** Names of chromosomes, each below its middle, in two rows: those at the ends first, others where they fit. */
export function chromosomes(genome: Genome, seen: Window, width: number): Tick[] {
  const named = genome.chromosomes.flatMap(({ name, start, last }) => {
    const from = Math.max(0, across(seen, width, start));
    const to = Math.min(width, across(seen, width, start + last));
    return to > from ? [{ x: (from + to) / 2, text: name, isMark: false }] : [];
  });
  const ticks: Tick[] = [];
  for (const { x, text, isMark } of new Set([...named.slice(0, 1), ...named.slice(-1), ...named])) {
    const isFree = (y: number) =>
      ticks.every(
        (other) =>
          other.y !== y || Math.abs(other.x - x) >= ((text.length + other.text.length) / 2) * LETTER + 4,
      );
    const y = ROWS.find(isFree);
    if (y !== undefined) ticks.push({ x, y, text, isMark });
  }
  return ticks;
}
