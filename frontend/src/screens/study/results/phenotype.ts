/** Which phenotype's results are shown: the address holds it, where a study has several. */
import type { Study, StudyRow } from "../../../api/client";
import type { ResultsOf } from "../../../api/queries";

/** The results of the phenotype that an address names, of the first if it names none that there is. */
export function resultsOf(study: Pick<StudyRow, "id" | "name" | "phenotypes">, wanted = ""): ResultsOf {
  const { id, name, phenotypes } = study;
  const [first = ""] = phenotypes;
  if (phenotypes.length < 2) return { id, name, phenotype: "" };
  const phenotype = phenotypes.includes(wanted) ? wanted : first;
  return { id, phenotype, name: `${name}, ${phenotype}` };
}

/** The results of each phenotype of a study. */
export const eachResultsOf = (study: Pick<StudyRow, "id" | "name" | "phenotypes">): ResultsOf[] =>
  study.phenotypes.map((phenotype) => resultsOf(study, phenotype));

/** The numbers of these results; none where there are none, as of a study of tables. */
export const summaryOf = (study: Study, { phenotype }: ResultsOf): Study["summaries"][number] | undefined =>
  phenotype ? study.summaries.find((each) => each.phenotype === phenotype) : study.summaries[0];

/** What stands behind an address: nothing of what is empty. */
export function question(parameters: Record<string, string>): string {
  const said = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value)).toString();
  return said && `?${said}`;
}
