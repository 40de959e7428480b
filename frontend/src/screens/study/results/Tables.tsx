/** The results of a study of tables: parameters of each feature, or a summary with a picture of each column. */
import { useQuery } from "@tanstack/react-query";

import type { Study } from "../../../api/client";
import { resultText } from "../../../api/queries";
import { Card, Muted, Section } from "../../../ui/Layout";
import { Loaded } from "../../../ui/Loading";
import { Table, type Column } from "../../../ui/Table";
import { count, fixed } from "../../../words/format";
import { measured } from "../../../words/genetics";
import { diamond } from "./paths";
import { readParameters, readSummary, stripOf, type Feature, type Strip, type Summary } from "./tables";
import styles from "./Tables.module.css";
import { declared, t } from "../../../words/language";

export function Parameters({ study, file }: { study: Study; file: string }) {
  return (
    <Section title={t("Parameters")}>
      <Loaded query={useQuery({ ...resultText(study.id, file), select: readParameters })}>
        {({ features }) => <ParametersTable features={features} />}
      </Loaded>
    </Section>
  );
}

function ParametersTable({ features }: { features: readonly Feature[] }) {
  const names = Object.keys(features[0]?.parameters ?? {});
  const columns: Column<Feature>[] = [
    { title: t("Feature"), cell: (row) => row.name },
    { title: t("Unit"), cell: (row) => row.unit || "–" },
    { title: t("Values"), cell: (row) => count(row.n), isNumber: true },
    ...names.map((name): Column<Feature> => ({
      title: titleOf(name),
      cell: (row) => <Exact value={row.parameters[name]} />,
      isNumber: true,
    })),
  ];
  if (features.some((row) => row.note)) columns.push({ title: t("Note"), cell: (row) => declared(row.note) });
  return (
    <>
      <Table
        caption={t("Parameters of each feature")}
        columns={columns}
        rows={features}
        rowKey={(row) => row.name}
      />
      <Muted>{t("From the values of all cohorts together, to six digits; the file has every digit.")}</Muted>
    </>
  );
}

const titleOf = (name: string): string => {
  const words = name.replaceAll("_", " ");
  return declared(words.charAt(0).toUpperCase() + words.slice(1));
};

/** A few digits; all of them for those who point at it. */
function Exact({ value, digits = 6 }: { value: number | null | undefined; digits?: number }) {
  return <span title={value === null ? undefined : String(value)}>{measured(value, digits)}</span>;
}

export function SummaryOfTable({ study, file }: { study: Study; file: string }) {
  const columns: Column<Summary>[] = [
    { title: t("Column"), cell: (row) => (row.unit ? `${row.name} (${row.unit})` : row.name) },
    { title: t("Values"), cell: (row) => count(row.n), isNumber: true },
    { title: t("Missing"), cell: missing, isNumber: true },
    { title: t("Mean"), cell: (row) => <Exact value={row.mean} digits={4} />, isNumber: true },
    { title: t("Deviation"), cell: (row) => <Exact value={row.deviation} digits={4} />, isNumber: true },
    {
      title: t("Median"),
      cell: (row) => <Exact value={row.quantiles.find(({ share }) => share === 0.5)?.value} digits={4} />,
      isNumber: true,
    },
    { title: t("Distribution"), cell: (row) => <Distribution row={row} /> },
  ];
  return (
    <Card>
      <Section title={t("Summary of the pooled table")}>
        <Loaded query={useQuery({ ...resultText(study.id, file), select: readSummary })}>
          {(rows) => (
            <Table
              caption={t("Summary of the pooled table")}
              columns={columns}
              rows={rows}
              rowKey={(row) => row.name}
              isWide
            />
          )}
        </Loaded>
        <Muted>
          {t(
            "In each picture, on a scale of its own: above, a histogram whose bars reach from each known quantile to the next, each as large as its share of the values; below, the box holds the middle half of the values, the line across it is the median, the thick line reaches from the 5 % to the 95 % quantile, the thin one from 1 % to 99 %, and the diamond is the mean. With few values the outer quantiles are single people’s, and left out.",
          )}
        </Muted>
      </Section>
    </Card>
  );
}

const missing = ({ n, missing }: Summary): string =>
  missing === null
    ? "–"
    : missing
      ? `${count(missing)} (${fixed((100 * missing) / (n + missing), 1)} %)`
      : "0";

function Distribution({ row }: { row: Summary }) {
  const strip = stripOf(row);
  if (!strip) return row.missing === null ? "–" : t("too few values");
  const known = row.quantiles.filter(({ value }) => value !== null);
  const words = known.map(({ share, value }) => `${share * 100} %: ${measured(value)}`).join(", ");
  return (
    <div className={styles.strip}>
      <StripPicture
        strip={strip}
        words={t("Quantiles of {{name}}. {{quantiles}}; mean {{mean}}", {
          name: row.name,
          quantiles: words,
          mean: measured(row.mean),
        })}
      />
      <div className={styles.ends} aria-hidden="true">
        <span>{measured(strip.low, 3)}</span>
        <span>{measured(strip.high, 3)}</span>
      </div>
    </div>
  );
}

const [WIDTH, HEIGHT, MARGIN, BARS] = [208, 52, 6, 26];

function StripPicture({ strip: { bars, spans, median, mean }, words }: { strip: Strip; words: string }) {
  const inside = WIDTH - 2 * MARGIN;
  const x = (share: number) => MARGIN + share * inside;
  const middle = (HEIGHT + BARS) / 2;
  const most = Math.max(...bars.map(({ height }) => height));
  return (
    <svg role="img" aria-label={words} viewBox={`0 0 ${WIDTH} ${HEIGHT}`}>
      <title>{words}</title>
      {bars.map(({ from, width, height }, k) => (
        <rect
          key={k}
          className={styles.bar}
          x={x(from)}
          width={width * inside}
          y={BARS * (1 - height / most)}
          height={(BARS * height) / most}
        />
      ))}
      {spans.map(({ share, from, to }) =>
        share === 0.25 ? (
          <rect
            key={share}
            className={styles.box}
            x={x(from)}
            width={Math.max(1, x(to) - x(from))}
            y={BARS + 4}
            height={HEIGHT - BARS - 8}
          />
        ) : (
          <path
            key={share}
            className={share < 0.05 ? styles.outer : styles.inner}
            d={`M${x(from)} ${middle}H${x(to)}`}
          />
        ),
      )}
      {median !== null && <path className={styles.median} d={`M${x(median)} ${BARS + 4}V${HEIGHT - 4}`} />}
      {mean !== null && <path className={styles.mean} d={diamond(x(mean), middle, 5)} />}
    </svg>
  );
}
