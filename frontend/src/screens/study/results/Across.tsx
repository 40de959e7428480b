/** One variant across the cohorts: the pool beside the meta-analysis of the cohorts' own estimates. */
import { Muted, Section } from "../../../ui/Layout";
import { Table, type Column } from "../../../ui/Table";
import { fileName } from "../../../words/files";
import { limits, measured, place, pOf } from "../../../words/genetics";
import { plural, t } from "../../../words/language";
import styles from "./Across.module.css";
import figure from "./Figure.module.css";
import { MakeFigure } from "./figures";
import { forest, type Effect, type Forest } from "./forest";
import type { Variant } from "./rows";

const [WIDTH, NAMES, LINE, SCALE] = [420, 120, 26, 22];
const TITLE = 24; // pixels above a panel of a figure, for its title
const EDGE = 0.15; // share of the width nearer than which the words below would reach over an end

interface Row extends Effect {
  p: string | null;
}

export function Across({ row, effect, confidence }: { row: Variant; effect: string; confidence: number }) {
  const found = row.across;
  if (!found) return null;
  const rows: Row[] = [
    { name: t("Pooled"), effect: row.effect, lower: row.lower, upper: row.upper, p: row.p },
    { name: t("Fixed effect"), ...found.fixed },
    { name: t("Random effect"), ...found.random },
  ];
  const columns: Column<Row>[] = [
    { title: t("Analysis"), cell: (of) => of.name },
    {
      title: t("{{effect}} ({{percent}} % limits)", { effect, percent: confidence * 100 }),
      cell: withLimits,
      isNumber: true,
    },
    { title: "P", cell: (of) => pOf(of.p), isNumber: true },
  ];
  const drawn = forest(rows, effect === "OR");
  const name = row.id || place(row.chromosome, row.position);
  const title = t("{{name}} across the cohorts", { name });
  const label = inWords(rows, effect);
  return (
    <Section title={title}>
      <div className={styles.both}>
        {drawn && (
          <div className={figure.figure}>
            <Picture drawn={drawn} label={label} />
            <MakeFigure
              about={title}
              file={fileName(name, "forest")}
              draw={(width) => <Picture drawn={drawn} label={label} width={width} title={title} />}
            />
          </div>
        )}
        <Table
          caption={t("The pool and the meta-analysis")}
          columns={columns}
          rows={rows}
          rowKey={(of) => of.name}
        />
      </div>
      <p>{differing(found)}</p>
      <Muted>
        {t("No cohort’s own estimate is known to anybody else: these follow from sums over all of them.")}
      </Muted>
    </Section>
  );
}

interface PictureProps {
  drawn: Forest;
  label: string;
  width?: number;
  /** In a figure, where no heading stands above it. */
  title?: string;
}

function Picture({ drawn, label, width = WIDTH, title }: PictureProps) {
  const x = (share: number): number => NAMES + 12 + share * (width - NAMES - 24);
  const top = title ? TITLE : 0;
  const bottom = top + LINE * drawn.marks.length;
  const ends = [drawn.low, drawn.high].filter((_, end) => Math.abs(drawn.none - end) > 2 * EDGE);
  return (
    <svg className={styles.picture} viewBox={`0 0 ${width} ${bottom + SCALE}`} role="img" aria-label={label}>
      {title && (
        <text className={figure.title} x={NAMES} y={13}>
          {title}
        </text>
      )}
      <line className={styles.axis} x1={x(drawn.none)} x2={x(drawn.none)} y1={top} y2={bottom} />
      {drawn.marks.map((mark, row) => {
        const y = top + LINE * row + LINE / 2;
        const [left, middle, right] = [x(mark.lower), x(mark.middle), x(mark.upper)];
        return (
          <g key={mark.name}>
            <text x={0} y={y + 4}>
              {mark.name}
            </text>
            <polygon
              className={styles.mark}
              points={`${Math.min(left, middle - 4)},${y} ${middle},${y - 7} ${Math.max(right, middle + 4)},${y} ${middle},${y + 7}`}
            />
          </g>
        );
      })}
      <line className={styles.axis} x1={NAMES} x2={width} y1={bottom} y2={bottom} />
      {ends.map((value) => (
        <text
          key={value}
          x={x(value === drawn.low ? 0 : 1)}
          y={bottom + 16}
          textAnchor={value === drawn.low ? "start" : "end"}
        >
          {measured(value, 2)}
        </text>
      ))}
      <text x={x(drawn.none)} y={bottom + 16} textAnchor={anchor(drawn.none)}>
        {t("no effect")}
      </text>
    </svg>
  );
}

/** How much the cohorts' own estimates differ. */
const differing = ({ studies, q_p, i_squared }: NonNullable<Variant["across"]>): string =>
  plural(
    studies,
    "{{n}} cohort has an estimate of its own. Cochran’s Q: P = {{p}}; I² = {{i_squared}}.",
    "{{n}} cohorts have an estimate of their own. Cochran’s Q: P = {{p}}; I² = {{i_squared}}.",
    { p: measured(q_p), i_squared: i_squared === null ? "NA" : `${Math.round(i_squared)} %` },
  );

const anchor = (share: number): "start" | "middle" | "end" =>
  share < EDGE ? "start" : share > 1 - EDGE ? "end" : "middle";

const withLimits = (of: Effect): string =>
  of.effect === null ? "NA" : `${measured(of.effect)} (${limits(of)})`;

const inWords = (rows: readonly Row[], effect: string): string =>
  rows.map((of) => `${of.name}: ${effect} ${withLimits(of)}`).join("; ");
