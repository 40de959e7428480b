/** How well a model does on rows that it has not seen: AUC with its bounds, ROC curve, calibration. */
import { useState } from "react";

import { SelectField } from "../../../ui/Field";
import { Facts, Muted, Section } from "../../../ui/Layout";
import { Table, type Column } from "../../../ui/Table";
import { fileName } from "../../../words/files";
import { count } from "../../../words/format";
import { measured } from "../../../words/genetics";
import { t } from "../../../words/language";
import { Plot } from "./Plot";
import styles from "./Plot.module.css";
import { rocBand, rocPoints, type Group, type Performance, type Score } from "./model";

export function PerformanceOf({
  performance,
  name,
  isNetwork,
}: {
  performance: Performance;
  name: string;
  isNetwork: boolean;
}) {
  const [shown, setShown] = useState(0);
  const { scores, brier } = performance;
  const score = scores[shown];
  if (!score) return null;
  const ofClasses = typeof score.auc === "number";
  return (
    <Section title={t("Performance on rows that were left out")}>
      {scores.length > 1 && (
        <SelectField
          label={t("Score of")}
          value={String(shown)}
          options={scores.map(({ of }, k) => [String(k), of] as const)}
          onChange={(k) => setShown(Number(k))}
        />
      )}
      <Facts facts={facts(score, brier)} />
      <Muted>{whereTested(ofClasses, isNetwork)}</Muted>
      <div className={styles.both}>
        {ofClasses && <Roc score={score} name={fileName(name, "roc", score.of)} />}
        {score.calibration.length > 0 && (
          <Calibration score={score} name={fileName(name, "calibration", score.of)} />
        )}
      </div>
      {score.calibration.length > 0 && <Groups groups={score.calibration} />}
    </Section>
  );
}

function whereTested(ofClasses: boolean, isNetwork: boolean): string {
  if (isNetwork) {
    return ofClasses
      ? t(
          "These are the rows of the fold that was left out. Only counts by range of score are known: the AUC lies between the two numbers in brackets.",
        )
      : t("These are the rows of the fold that was left out.");
  }
  return ofClasses
    ? t(
        "Each row was scored by a model of the same penalty that was fitted without the row's fold. Only counts by range of score are known: the AUC lies between the two numbers in brackets.",
      )
    : t("Each row was predicted by a model of the same penalty that was fitted without the row's fold.");
}

function facts(score: Score, brier: number | null): [string, string][] {
  const found: [string, string][] = [];
  if (typeof score.auc === "number") found.push(["AUC", aucInWords(score)]);
  if (brier !== null) found.push([t("Brier score"), measured(brier, 4)]);
  return found;
}

const aucInWords = ({ auc, auc_low, auc_high }: Score): string =>
  t("{{auc}} ({{low}} to {{high}})", {
    auc: measured(auc ?? null, 4),
    low: measured(auc_low ?? null, 4),
    high: measured(auc_high ?? null, 4),
  });

function Roc({ score, name }: { score: Score; name: string }) {
  const points = rocPoints(score);
  const about = t("ROC curve");
  return (
    <Plot
      about={about}
      name={name}
      summary={t("ROC curve: AUC {{auc}}.", { auc: aucInWords(score) })}
      x={{ title: t("1 − specificity"), limits: [0, 1] }}
      y={{ title: t("Sensitivity"), limits: [0, 1] }}
      caption={t("Shaded: where the curve may run within a range of scores. Dashed: by chance.")}
      draw={(path) => (
        <>
          <path className={styles.band} d={`${path(rocBand(points))}z`} />
          <path
            className={styles.expected}
            d={path([
              [0, 0],
              [1, 1],
            ])}
          />
          <path className={styles.curve} d={path(points)} />
        </>
      )}
    />
  );
}

function Calibration({ score, name }: { score: Score; name: string }) {
  const groups = score.calibration;
  const values = groups.flatMap(({ expected, observed, low, high }) => [
    expected,
    observed,
    low ?? observed,
    high ?? observed,
  ]);
  const least = score.of ? 0 : Math.min(...values);
  const most = Math.max(...values);
  const limits: [number, number] = most > least ? [least, most] : [least - 1, least + 1];
  const about = t("Calibration");
  return (
    <Plot
      about={about}
      name={name}
      summary={`${about}. ${groups.map(({ expected, observed }) => `${measured(expected, 3)}: ${measured(observed, 3)}`).join("; ")}.`}
      x={{ title: t("Expected"), limits }}
      y={{ title: t("Observed"), limits }}
      caption={
        score.of
          ? t("Groups of about as many rows, with intervals of 95 %. Dashed: as expected.")
          : t("Means of groups of about as many rows. Dashed: as expected.")
      }
      draw={(path) => (
        <>
          <path
            className={styles.expected}
            d={path([
              [limits[0], limits[0]],
              [limits[1], limits[1]],
            ])}
          />
          {groups.map(({ expected, observed, low, high }, k) => (
            <g key={k}>
              {low !== null && high !== null && (
                <path
                  className={styles.interval}
                  d={path([
                    [expected, low],
                    [expected, high],
                  ])}
                />
              )}
              <path className={styles.dot} d={`${path([[expected, observed]])}h.01`} />
            </g>
          ))}
        </>
      )}
    />
  );
}

type Numbered = Group & { number: number };

function Groups({ groups }: { groups: readonly Group[] }) {
  const columns: Column<Numbered>[] = [
    { title: t("Group"), cell: ({ number }) => count(number) },
    { title: t("Rows"), cell: ({ rows }) => count(rows), isNumber: true },
    { title: t("Expected"), cell: ({ expected }) => measured(expected, 4), isNumber: true },
    { title: t("Observed"), cell: ({ observed }) => measured(observed, 4), isNumber: true },
  ];
  const interval: Column<Numbered> = {
    title: t("95 % interval"),
    cell: ({ low, high }) => t("{{low}} to {{high}}", { low: measured(low, 4), high: measured(high, 4) }),
    isNumber: true,
  };
  const has = groups.some(({ low }) => low !== null);
  return (
    <Table
      caption={t("Expected and observed, by the score")}
      columns={has ? [...columns, interval] : columns}
      rows={groups.map((group, k) => ({ ...group, number: k + 1 }))}
      rowKey={({ number }) => String(number)}
      isWide
    />
  );
}
