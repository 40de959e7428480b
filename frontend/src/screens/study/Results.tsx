import { useQuery } from "@tanstack/react-query";

import type { Schemas, Study } from "../../api/client";
import { isOver, results, type ResultsOf } from "../../api/queries";
import { useAddress } from "../../app/useAddress";
import { DownloadLink } from "../../ui/Button";
import { SelectField } from "../../ui/Field";
import { Columns, Facts, Muted, Row } from "../../ui/Layout";
import { count } from "../../words/format";
import { inflation } from "../../words/genetics";
import { resultsOf, summaryOf } from "./results/phenotype";
import { Pictures } from "./results/Pictures";
import { addressOf, CopyMethods, Files } from "./ResultFiles";
import { Components, Density } from "./results/Components";
import { Encoding } from "./results/Encoding";
import { Figures } from "./results/figures";
import { Model } from "./results/Model";
import { Polygenic } from "./results/Polygenic";
import { Sets } from "./results/Sets";
import { Parameters, SummaryOfTable } from "./results/Tables";
import styles from "./Results.module.css";
import { useStudy } from "./StudyLayout";
import { t } from "../../words/language";

/** What came out: numbers, pictures, loci, files. */
export function Results() {
  const study = useStudy();
  const [address, change] = useAddress();
  if (study.state !== "done") return <NotYet study={study} />;
  const shown = resultsOf(study, address.get("phenotype") ?? "");
  return (
    <Figures people={summaryOf(study, shown)}>
      {shown.phenotype && (
        <Columns>
          <SelectField
            label={t("Phenotype")}
            value={shown.phenotype}
            options={study.phenotypes.map((name) => [name, name] as const)}
            onChange={(phenotype) => change({ phenotype })}
          />
        </Columns>
      )}
      <Top study={study} shown={shown} />
      {study.is_demo && study.summary && <Generated />}
      {study.has_pictures && (
        <div className={styles.pictures}>
          <Pictures key={shown.phenotype} study={shown} />
        </div>
      )}
      <FromFiles study={study} shown={shown} />
      <Files study={study} />
    </Figures>
  );
}

function NotYet({ study }: { study: Study }) {
  if (isOver(study)) return <Muted>{t("The study ended without results.")}</Muted>;
  return <Muted>{t("The results will be here once the study is done.")}</Muted>;
}

/** Of a study without pictures of variants, what its files have. */
function FromFiles({ study, shown }: { study: Study; shown: ResultsOf }) {
  const { data: files = [] } = useQuery(results(study.id));
  const named = (end: string) => files.find(({ name }) => name.endsWith(end))?.name;
  const [parameters, summary] = [named(".parameters.json"), named(".summary.tsv")];
  const [encoding, model] = [named(".encoding.json"), named(".model.json")];
  const [score, density] = [named(".performance.json"), named(".density")];
  const sets = named(shown.phenotype ? `.${shown.phenotype}.regenie` : ".regenie");
  const eigenvalues = named(".eigenval.error") ?? named(".eigenval");
  return (
    <>
      {parameters && <Parameters study={study} file={parameters} />}
      {summary && <SummaryOfTable study={study} file={summary} />}
      {encoding && <Encoding study={study} file={encoding} />}
      {model && <Model study={study} file={model} />}
      {score && <Polygenic study={study} file={score} />}
      {eigenvalues && <Components study={study} file={eigenvalues} />}
      {sets && <Sets study={study} file={sets} />}
      {density && <Density study={study} file={density} />}
    </>
  );
}

/** The first numbers, and everything to take along. */
function Top({ study, shown }: { study: Study; shown: ResultsOf }) {
  const { data: files = [], isPending } = useQuery(results(study.id));
  const ending = shown.phenotype ? `.${shown.phenotype}.report.html` : ".report.html";
  const report = files.find(({ name }) => name.endsWith(ending))?.name;
  const methods = files.find(({ name }) => name.endsWith(".methods.txt"))?.name;
  const summary = summaryOf(study, shown);
  return (
    <section className={styles.top} aria-label={t("In numbers")}>
      {summary && <Facts facts={numbers(summary, study.has_pictures)} />}
      {/* All keep their places while it is not known which there are. */}
      <div style={{ visibility: isPending ? "hidden" : "visible" }}>
        <Row>
          {(report ?? isPending) && (
            <DownloadLink href={addressOf(study, report ?? "")}>{t("Report")}</DownloadLink>
          )}
          <DownloadLink href={`/api/v1/studies/${study.id}/results.zip`}>{t("Download all")}</DownloadLink>
          {(methods ?? isPending) && <CopyMethods study={study} file={methods ?? ""} />}
        </Row>
      </div>
    </section>
  );
}

function Generated() {
  return (
    <Muted>
      {t(
        "These data are generated: allele frequencies differ a little from cohort to cohort, and some effects are planted. That explains this λ, which says nothing about a real population.",
      )}
    </Muted>
  );
}

const numbers = (summary: Schemas["Summary"], areTested: boolean): [string, string][] => [
  [t("People"), count(summary.people)],
  ...known(t("Cases"), summary.cases),
  ...known(t("Controls"), summary.controls),
  [t("Variants"), count(summary.variants)],
  ...(areTested
    ? [[t("Genomic inflation λ"), inflation(summary.genomic_inflation)] as [string, string]]
    : []),
  ...known(t("Frequencies far from the pool's"), summary.frequencies_far),
];

const known = (name: string, value: number | null): [string, string][] =>
  value === null ? [] : [[name, count(value)]];
