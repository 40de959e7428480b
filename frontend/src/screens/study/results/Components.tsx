/** The results of a study of principal components: their eigenvalues. */
import { useQuery } from "@tanstack/react-query";

import type { Study } from "../../../api/client";
import { resultText } from "../../../api/queries";
import { Card, Muted, Section } from "../../../ui/Layout";
import { Loaded } from "../../../ui/Loading";
import { Table, type Column } from "../../../ui/Table";
import { fileName } from "../../../words/files";
import { measured } from "../../../words/genetics";
import { t } from "../../../words/language";
import { readEigenvalues, topOf, type Eigenvalue } from "./components";
import { Plot } from "./Plot";
import styles from "./Plot.module.css";

export function Components({ study, file }: { study: Study; file: string }) {
  return (
    <Loaded query={useQuery({ ...resultText(study.id, file), select: readEigenvalues })}>
      {(found) => (
        <Card>
          <Section title={t("Principal components")}>
            <Muted>
              {t(
                "Components stand out up to the last whose eigenvalue is at least 1.2 times the next; among some with nearly the same eigenvalue directions may rotate. Others are mostly chance. The error is the most that 1 - |cos| can be where the search has missed no larger eigenvalue. Each person's scores are at their cohort.",
              )}
            </Muted>
            <div className={styles.both}>
              <ByNumber found={found} name={fileName(study.name, "eigenvalues")} />
              <Eigenvalues found={found} />
            </div>
          </Section>
        </Card>
      )}
    </Loaded>
  );
}

function ByNumber({ found, name }: { found: readonly Eigenvalue[]; name: string }) {
  const points = found.map(({ number, value }) => [number, value] as const);
  return (
    <Plot
      about={t("Eigenvalues")}
      name={name}
      summary={t("Eigenvalues of the components, falling from {{first}} to {{last}}.", {
        first: measured(found[0]?.value ?? null, 4),
        last: measured(found.at(-1)?.value ?? null, 4),
      })}
      x={{ title: t("Component"), limits: [0, found.length + 1] }}
      y={{ title: t("Eigenvalue"), limits: [0, topOf(found)] }}
      caption={t("Each component's eigenvalue; large dots stand out.")}
      draw={(path) => (
        <>
          <path className={styles.interval} d={path(points)} fill="none" />
          {found.map(({ number, value, standsOut }) => (
            <path
              key={number}
              className={standsOut ? styles.dot : styles.tried}
              d={`${path([[number, value]])}h.01`}
            />
          ))}
        </>
      )}
    />
  );
}

function Eigenvalues({ found }: { found: readonly Eigenvalue[] }) {
  const columns: Column<Eigenvalue>[] = [
    { title: t("Component"), cell: ({ number }) => `PC${number}` },
    { title: t("Eigenvalue"), cell: ({ value }) => measured(value, 6), isNumber: true },
    { title: t("Times the next"), cell: ({ timesNext }) => measured(timesNext, 4), isNumber: true },
    { title: t("Error at most"), cell: ({ error }) => measured(error, 2), isNumber: true },
    { title: t("Stands out"), cell: ({ standsOut }) => (standsOut ? t("yes") : t("no")) },
  ];
  return (
    <Table
      caption={t("Eigenvalues")}
      columns={columns}
      rows={found}
      rowKey={({ number }) => String(number)}
    />
  );
}
