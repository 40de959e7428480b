/** Observed against expected P, for all variants and by frequency, with λ of each. */
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState, type PointerEvent } from "react";

import type { Schemas } from "../../../api/client";
import { quantiles, type ResultsOf } from "../../../api/queries";
import { Card, Muted, Section } from "../../../ui/Layout";
import { Loaded } from "../../../ui/Loading";
import { Table, type Column } from "../../../ui/Table";
import { fileName } from "../../../words/files";
import { count, decimal } from "../../../words/format";
import { inflation, pValue } from "../../../words/genetics";
import { TipBox, TipFacts, useFrame, useWidth } from "./Figure";
import figure from "./Figure.module.css";
import { MakeFigure } from "./figures";
import { FOLD } from "./fold";
import plot from "./Plot.module.css";
import styles from "./QQ.module.css";
import {
  axesOf,
  bandOf,
  diagonal,
  lookOf,
  marksOf,
  nameOf,
  nearestRank,
  shapeOf,
  type Axes,
  type Curve,
  type Ranked,
} from "./quantiles";
import { t } from "../../../words/language";

const MARGIN = { left: 44, right: 12, top: 24, bottom: 42 };

export function QQ({ study }: { study: ResultsOf }) {
  const query = useQuery(quantiles(study));
  return (
    <Card>
      <Section title={t("QQ plot")}>
        <Loaded query={query}>{(found) => <Curves found={found} file={fileName(study.name, "qq")} />}</Loaded>
      </Section>
    </Card>
  );
}

function Curves({ found, file }: { found: Schemas["Quantiles"]; file: string }) {
  const frame = useFrame();
  const { curves, confidence } = found;
  const width = useWidth(frame, 480);
  const [isShown, setShown] = useState(() => curves.map((_, number) => number === 0));
  const toggle = (number: number) => setShown(isShown.map((each, i) => (i === number ? !each : each)));
  return (
    <div className={styles.both}>
      <figure className={figure.figure}>
        <div ref={frame}>
          <Plot curves={curves} isShown={isShown} width={width} summary={inWords(curves)} />
        </div>
        <figcaption>
          {t(
            "Dashed: as expected if nothing is associated. Shaded: where {{percent}} % of such studies lie, by rank, if tests are independent.",
            { percent: confidence * 100 },
          )}
        </figcaption>
        <MakeFigure
          about={t("QQ plot")}
          file={file}
          draw={(width) => <Plot curves={curves} isShown={isShown} width={width} summary={inWords(curves)} />}
        />
      </figure>
      <Lambdas curves={curves} isShown={isShown} onToggle={toggle} />
    </div>
  );
}

function Lambdas({
  curves,
  isShown,
  onToggle,
}: {
  curves: readonly Curve[];
  isShown: readonly boolean[];
  onToggle: (number: number) => void;
}) {
  const columns: Column<{ curve: Curve; number: number }>[] = [
    {
      title: t("Frequency"),
      cell: ({ curve, number }) => (
        <label className={styles.choice}>
          <input type="checkbox" checked={isShown[number] ?? false} onChange={() => onToggle(number)} />
          <Key number={number} />
          {nameOf(curve)}
        </label>
      ),
    },
    { title: t("Variants"), cell: ({ curve }) => count(curve.variants), isNumber: true },
    { title: "λ", cell: ({ curve }) => inflation(curve.inflation), isNumber: true },
  ];
  return (
    <div className={figure.figure}>
      <Table
        caption={t("Curves of the QQ plot")}
        columns={columns}
        rows={curves.map((curve, number) => ({ curve, number }))}
        rowKey={({ number }) => String(number)}
      />
      <Muted>
        {t(
          "λ is the median chi-square over the one that is expected; 1 is no inflation, and as with PLINK it is never below. The frequency is that of the rarer allele.",
        )}
      </Muted>
    </div>
  );
}

function Key({ number }: { number: number }) {
  const look = lookOf(number);
  return (
    <svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">
      <path className={styles[look]} d={shapeOf(look)(7, 7, 4)} />
    </svg>
  );
}

interface PlotProps {
  curves: readonly Curve[];
  isShown: readonly boolean[];
  width: number;
  summary: string;
}

function Plot({ curves, isShown, width, summary }: PlotProps) {
  const size = useMemo(
    () => ({
      width: width - MARGIN.left - MARGIN.right,
      height: Math.round((width - MARGIN.left - MARGIN.right) * 0.82),
    }),
    [width],
  );
  const axes = useMemo(() => axesOf(curves, size), [curves, size]);
  const [pointed, setPointed] = useState<Ranked | null>(null);
  const onPointerMove = (event: PointerEvent) => {
    const box = event.currentTarget.getBoundingClientRect();
    const at = [event.clientX - box.left - MARGIN.left, event.clientY - box.top - MARGIN.top] as const;
    setPointed(nearestRank(curves, isShown, axes, at));
  };
  const full = { width, height: size.height + MARGIN.top + MARGIN.bottom };
  const [x, y] = pointed ? [axes.x(pointed.expected), axes.y.y(pointed.observed)] : [0, 0];
  const of = pointed && curves[pointed.curve];
  return (
    <div className={figure.frame} onPointerMove={onPointerMove} onPointerLeave={() => setPointed(null)}>
      <svg role="img" aria-label={summary} viewBox={`0 0 ${full.width} ${full.height}`}>
        <g transform={`translate(${MARGIN.left} ${MARGIN.top})`}>
          {curves[0] && <path className={plot.band} d={bandOf(curves[0], axes)} />}
          <AxesMarks axes={axes} width={size.width} height={size.height} />
          <path className={plot.expected} d={diagonal(axes)} />
          {curves.map(
            (curve, number) =>
              isShown[number] && (
                <path
                  key={number}
                  className={styles[lookOf(number)]}
                  d={marksOf(curve, lookOf(number), axes)}
                />
              ),
          )}
          {pointed && <circle className={styles.ring} cx={x} cy={y} r={7} data-screen />}
        </g>
      </svg>
      {pointed && of && (
        <TipBox x={x + MARGIN.left} y={y + MARGIN.top} width={width}>
          <p>{t("Frequency: {{name}}", { name: nameOf(of) })}</p>
          <TipFacts
            facts={[
              [t("Observed P"), pValue(pointed.observed)],
              [t("Expected P"), pValue(pointed.expected)],
            ]}
          />
        </TipBox>
      )}
    </div>
  );
}

function AxesMarks({ axes: { x, xTicks, y }, width, height }: { axes: Axes; width: number; height: number }) {
  return (
    <>
      <path
        className={figure.grid}
        d={y.ticks
          .filter(Boolean)
          .map((tick) => `M0 ${y.y(tick)}H${width}`)
          .join("")}
      />
      <path
        className={figure.axis}
        d={`M0 0V${height}H${width}${xTicks.map((tick) => `M${x(tick)} ${height}v5`).join("")}`}
      />
      {y.ticks.map((tick) => (
        <text key={tick} className={figure.tick} x={-8} y={y.y(tick)} dy="0.32em" textAnchor="end">
          {decimal(tick)}
        </text>
      ))}
      {xTicks.map((tick) => (
        <text key={tick} className={figure.tick} x={x(tick)} y={height + 18} textAnchor="middle">
          {decimal(tick)}
        </text>
      ))}
      <text className={figure.title} x={-8} y={-11}>
        {y.isFolded ? t("Observed −log₁₀ P, folded above {{fold}}", { fold: FOLD }) : t("Observed −log₁₀ P")}
      </text>
      <text className={figure.title} x={width / 2} y={height + 37} textAnchor="middle">
        {t("Expected −log₁₀ P")}
      </text>
    </>
  );
}

function inWords(curves: readonly Curve[]): string {
  const each = curves.map((curve) => `${nameOf(curve)}: λ ${inflation(curve.inflation)}`);
  return t("QQ plot of observed against expected P. {{curves}}.", { curves: each.join("; ") });
}
