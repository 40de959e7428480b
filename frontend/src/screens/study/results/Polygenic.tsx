/** The results of a study that fitted a polygenic score: how well it predicts, by the share of variance. */
import { useQuery } from "@tanstack/react-query";

import type { Study } from "../../../api/client";
import { resultText } from "../../../api/queries";
import { Card, Facts, Muted, Section } from "../../../ui/Layout";
import { Loaded } from "../../../ui/Loading";
import { Table, type Column } from "../../../ui/Table";
import { fileName } from "../../../words/files";
import { count, decimal } from "../../../words/format";
import { measured } from "../../../words/genetics";
import { t } from "../../../words/language";
import { Plot } from "./Plot";
import styles from "./Plot.module.css";
import { readPolygenic, topOf, type PolygenicFile, type Share } from "./polygenic";

export function Polygenic({ study, file }: { study: Study; file: string }) {
  return (
    <Loaded query={useQuery({ ...resultText(study.id, file), select: readPolygenic })}>
      {(found) => (
        <Card>
          <Section title={t("Polygenic score of {{phenotype}}", { phenotype: found.phenotype })}>
            <Facts facts={numbers(found)} />
            <Muted>
              {t(
                "R² is of people whom this fit had not seen, without what covariates explain. The score itself was then fitted to everyone. On people of other ancestry expect less.",
              )}
            </Muted>
            <div className={styles.both}>
              <ByShare found={found} name={fileName(study.name, "score")} />
            </div>
            <Shares shares={found.shares} />
          </Section>
        </Card>
      )}
    </Loaded>
  );
}

const numbers = (found: PolygenicFile): [string, string][] => [
  [t("Held out to choose"), count(found.left_out)],
  [t("Share of variance"), decimal(found.share)],
  [t("R² in people left out"), measured(found.r_squared, 4)],
  [t("Rounds"), count(found.rounds)],
];

function ByShare({ found: { shares, share, r_squared }, name }: { found: PolygenicFile; name: string }) {
  const known = shares.flatMap(({ share, r_squared }) =>
    r_squared === null ? [] : [[share, r_squared] as const],
  );
  const about = t("R² by share of variance");
  return (
    <Plot
      about={about}
      name={name}
      summary={t("R² by share of variance: {{r}} at {{share}}, which was chosen.", {
        r: measured(r_squared, 4),
        share: decimal(share),
      })}
      x={{ title: t("Share of variance"), limits: [0, 1] }}
      y={{ title: "R²", limits: [0, topOf(shares)] }}
      caption={t("Each share of variance that was tried; the large dot has the least error.")}
      draw={(path) => (
        <>
          {known.length > 1 && <path className={styles.curve} d={path(known)} />}
          {known.map((point) => (
            <path key={point[0]} className={styles.tried} d={`${path([point])}h.01`} />
          ))}
          {r_squared !== null && <path className={styles.dot} d={`${path([[share, r_squared]])}h.01`} />}
        </>
      )}
    />
  );
}

function Shares({ shares }: { shares: readonly Share[] }) {
  const columns: Column<Share>[] = [
    { title: t("Share of variance"), cell: ({ share }) => decimal(share) },
    { title: "R²", cell: ({ r_squared }) => measured(r_squared, 4), isNumber: true },
    {
      title: t("Error removed, %"),
      cell: ({ explained }) => measured(explained === null ? null : 100 * explained, 3),
      isNumber: true,
    },
    { title: t("Chosen"), cell: ({ chosen }) => (chosen ? t("yes") : "") },
  ];
  return (
    <Table
      caption={t("Shares of variance that were tried")}
      columns={columns}
      rows={shares}
      rowKey={({ share }) => String(share)}
    />
  );
}
