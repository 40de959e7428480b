/** Two studies, or two phenotypes, side by side: a Miami plot, and a table of the loci of both. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Link } from "react-router";

import type { Schemas, StudyRow } from "../../../api/client";
import { compared, manhattan, studies, type ResultsOf } from "../../../api/queries";
import { useAddress } from "../../../app/useAddress";
import { Refusal } from "../../../ui/Callout";
import { SelectField } from "../../../ui/Field";
import { Card, Muted, Section } from "../../../ui/Layout";
import { Loaded } from "../../../ui/Loading";
import { Table, type Column } from "../../../ui/Table";
import { loci, variants } from "../../../words/counted";
import { limits, measured, place, pValue } from "../../../words/genetics";
import { useStudy } from "../StudyLayout";
import { kept, regionText } from "./genome";
import { genomeOfBoth } from "./both";
import { GeneNearby } from "./GeneNearby";
import { Miami } from "./Miami";
import { eachResultsOf, question, resultsOf } from "./phenotype";
import { t } from "../../../words/language";

export function Compare() {
  const study = useStudy();
  const [address, change] = useAddress();
  const shown = resultsOf(study, address.get("phenotype") ?? "");
  const rows = useQuery(studies(false));
  if (!study.has_pictures)
    return <Muted>{t("Only studies of variants that are done can be compared.")}</Muted>;
  return (
    <Section title={shown.phenotype ? t("Compare two phenotypes") : t("Compare two studies")}>
      {shown.phenotype && (
        <SelectField
          label={t("Phenotype")}
          value={shown.phenotype}
          options={study.phenotypes.map((name) => [name, name] as const)}
          onChange={(phenotype) => change({ phenotype })}
        />
      )}
      <Loaded query={rows}>
        {(every) => {
          const others = [study, ...every.filter((row) => row.id !== study.id)].filter((row) =>
            isComparable(row, study.build),
          );
          const choices = others
            .flatMap((row) =>
              eachResultsOf(row).map((of) => ({ of, value: inAddress(of), said: inWords(row, of) })),
            )
            .filter(({ value }) => value !== inAddress(shown));
          if (!choices.length) return <Muted>{t("There is no other study of variants that is done.")}</Muted>;
          const other = choices.find(({ value }) => value === address.get("with"))?.of;
          return (
            <>
              <SelectField
                label={t("Compare with")}
                value={other ? inAddress(other) : ""}
                options={[
                  ["", t("Choose a study")],
                  ...choices.map(({ value, said }) => [value, said] as const),
                ]}
                onChange={(other) => change({ with: other })}
              />
              {other && (
                <Both
                  key={`${inAddress(shown)} ${inAddress(other)}`}
                  study={shown}
                  other={{ ...other, name: nameBeside(shown, other) }}
                />
              )}
            </>
          );
        }}
      </Loaded>
    </Section>
  );
}

/** Whether a study has variants of the same genome build, and is done. */
const isComparable = (row: StudyRow, build: string): boolean =>
  row.state === "done" && row.phenotype !== "" && row.build === build;

/** How an address names results. */
const inAddress = ({ id, phenotype }: ResultsOf): string => (phenotype ? `${id}:${phenotype}` : id);

/** A study in a list of choices, by its only phenotype or by one of several. */
const inWords = (row: StudyRow, { phenotype }: ResultsOf): string =>
  `${row.name} · ${phenotype || row.phenotype} · ${row.owner}`;

/** What the other results are called beside these: never the same. */
function nameBeside({ name }: ResultsOf, other: ResultsOf): string {
  return other.name === name ? t("{{name}} (the other)", { name }) : other.name;
}

function Both({ study, other }: { study: ResultsOf; other: ResultsOf }) {
  const [upper, lower] = [useQuery(manhattan(study)), useQuery(manhattan(other))];
  const loci = useQuery(compared(study, other));
  // Positions of different builds must not share an axis: the picture waits for the server's word.
  if (loci.error) return <Refusal error={loci.error} />;
  return (
    <Loaded query={loci}>
      {(found) => (
        <>
          <Loaded query={upper}>
            {(above) => (
              <Loaded query={lower}>
                {(below) => (
                  <Card>
                    <Miami studies={[study, other]} overviews={[above, below]} />
                  </Card>
                )}
              </Loaded>
            )}
          </Loaded>
          {upper.data && lower.data && (
            <LociOfBoth study={study} other={other} found={found} overviews={[upper.data, lower.data]} />
          )}
        </>
      )}
    </Loaded>
  );
}

type Row = Schemas["LocusOfTwo"];

interface LociProps {
  study: ResultsOf;
  other: ResultsOf;
  found: Schemas["Comparison"];
  overviews: readonly [Schemas["Manhattan"], Schemas["Manhattan"]];
}

function LociOfBoth({ study, other, found: { effects, rows }, overviews }: LociProps) {
  const genome = useMemo(() => genomeOfBoth(overviews), [overviews]);
  const regionOf = ({ chromosome, start, end }: Row) => {
    const region = kept(genome, { chromosome, from: start, to: end });
    return question({ phenotype: study.phenotype, region: region ? regionText(region) : "" });
  };
  const columns: Column<Row>[] = [
    {
      title: t("Variant"),
      cell: (row) => (
        <Link to={`/studies/${study.id}/results${regionOf(row)}`}>{row.id || t("(no ID)")}</Link>
      ),
    },
    { title: t("Place"), cell: (row) => place(row.chromosome, row.position) },
    { title: t("Gene"), cell: GeneNearby },
    { title: "A1 / A2", cell: (row) => `${row.a1} / ${row.a2}` },
    ...[study, other].flatMap(({ name }, k): Column<Row>[] => [
      {
        title: t("{{effect}} (limits), {{name}}", { effect: effects[k] ?? "", name }),
        cell: (row) => effectInWords(row.studies[k]),
        isNumber: true,
      },
      {
        title: t("P, {{name}}", { name }),
        cell: (row) => pValue(row.studies[k]?.neg_log10_p),
        isNumber: true,
      },
      { title: t("Lead, {{name}}", { name }), cell: (row) => row.leads[k] ?? t("no locus") },
    ]),
    { title: t("Direction"), cell: directionInWords },
  ];
  const same = rows.filter((row) => row.same_direction).length;
  const known = rows.filter((row) => row.same_direction !== null).length;
  return (
    <Section title={t("Loci side by side")}>
      {rows.length ? (
        <>
          <p>
            {t(
              "{{loci}} of either study, each by its strongest lead variant; effects are per copy of A1 in both. Of {{variants}} with an effect in both, {{same}} go in the same direction.",
              { loci: loci(rows.length), variants: variants(known), same },
            )}
          </p>
          <Table
            caption={t("Loci of both studies")}
            columns={columns}
            rows={rows}
            rowKey={(row) => `${row.chromosome} ${row.position} ${row.id}`}
            isWide
          />
        </>
      ) : (
        <Muted>{t("Neither study has a locus. That is a result.")}</Muted>
      )}
    </Section>
  );
}

function effectInWords(row: Schemas["InStudy"] | null | undefined): string {
  if (!row) return t("not in this study");
  return `${measured(row.effect)} (${limits(row)})`;
}

function directionInWords({ same_direction }: Row): string {
  if (same_direction === null) return t("not known");
  return same_direction ? t("same") : t("opposite");
}
