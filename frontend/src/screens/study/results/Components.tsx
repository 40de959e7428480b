/** The results of a study of principal components: their eigenvalues, and where in their plane people are dense. */
import { useQuery } from "@tanstack/react-query";

import type { Study } from "../../../api/client";
import { resultText } from "../../../api/queries";
import { Card, Muted, Section } from "../../../ui/Layout";
import { Loaded } from "../../../ui/Loading";
import { Table, type Column } from "../../../ui/Table";
import { fileName } from "../../../words/files";
import { count } from "../../../words/format";
import { measured } from "../../../words/genetics";
import { t } from "../../../words/language";
import {
  reachOf,
  readDensity,
  readEigenvalues,
  shadeOf,
  topOf,
  type Cell,
  type Eigenvalue,
} from "./components";
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

/** The density of the pool's people by the first two components. */
export function Density({ study, file }: { study: Study; file: string }) {
  return (
    <Loaded query={useQuery({ ...resultText(study.id, file), select: readDensity })}>
      {(cells) =>
        cells.length > 0 && (
          <Card>
            <Section title={t("People by the first two components")}>
              <div className={styles.both}>
                <DensityMap cells={cells} name={fileName(study.name, "density")} />
              </div>
            </Section>
          </Card>
        )
      }
    </Loaded>
  );
}

function DensityMap({ cells, name }: { cells: readonly Cell[]; name: string }) {
  const reach = reachOf(cells);
  const limits = [-reach, reach] as const;
  const people = cells.map((cell) => cell.people);
  return (
    <Plot
      about={t("Density of people")}
      name={name}
      summary={t(
        "Density of people by PC1 and PC2: {{cells}} cells with at least {{least}} to {{most}} people.",
        {
          cells: count(cells.length),
          least: count(Math.min(...people)),
          most: count(Math.max(...people)),
        },
      )}
      x={{ title: "PC1", limits }}
      y={{ title: "PC2", limits }}
      caption={t(
        "The darker, the more people: each shade stands for twice as many as the one before. Cells with fewer than 10 are left out; numbers are known only to a factor of two, and of no cohort by itself.",
      )}
      draw={(path) =>
        cells.map((cell) => {
          const { left, right, low, high } = cell;
          const corners = [
            [left, low],
            [right, low],
            [right, high],
            [left, high],
          ] as const;
          return (
            <path
              key={corners[0].join(" ")}
              className={styles.cell}
              fillOpacity={shadeOf(cell, cells)}
              d={`${path(corners)}z`}
            />
          );
        })
      }
    />
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
    { title: t("Ratio to the next"), cell: ({ timesNext }) => measured(timesNext, 4), isNumber: true },
    { title: t("Error at most"), cell: ({ error }) => measured(error, 2), isNumber: true },
    { title: t("Stands out"), cell: ({ standsOut }) => (standsOut ? t("yes") : t("no")) },
  ];
  return (
    <Table
      caption={t("Eigenvalues")}
      columns={columns}
      rows={found}
      rowKey={({ number }) => String(number)}
      isWide
    />
  );
}
