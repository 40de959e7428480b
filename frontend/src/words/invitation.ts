/** The message that goes to a cohort's data manager with, or before, the invitation itself. */
import type { Schemas } from "../api/client";
import { t } from "./language";
import { schemaLines } from "./schemaFile";

type Plan = Schemas["FrozenPlan"];

export interface Asked {
  study: string;
  cohort: string;
  coordinator: string;
  plan: Plan;
  /** The invitation's text, if it is to stand in the message. */
  invitation?: string | undefined;
}

const INSTALL = [
  "python3 -m venv unpooled",
  "unpooled/bin/python -m pip install --require-hashes -r constraints/build.txt -r constraints/client.txt",
  "unpooled/bin/python -m pip install --no-deps --no-build-isolation ./core ./client",
];

/** What to install, check and run, with the names that the plan has for the columns. */
export function invitationMessage({ study, cohort, coordinator, plan, invitation }: Asked): string {
  const own = plan.trait === "none" ? ofTables(plan) : ofGenotypes(plan);
  return [
    t("{{cohort}} is invited to the study “{{study}}”.", { cohort, study }),
    t("Your data stay on your computer. Before anything is sent you are shown what it is, and asked."),
    part(t("1. Install the client, in the folder of Unpooled's release:"), INSTALL),
    part(t("2. Check your files. Nothing is sent:"), [command("check", own.check)]),
    part(t("3. Take part:"), [command("run invitation.txt", own.run)]),
    own.files,
    invitation ? inside(cohort, invitation) : apart(cohort),
    coordinator,
  ].join("\n\n");
}

export interface Invited {
  cohort: string;
  address: string;
}

/** The cohorts of a pasted list, one a line: a name, and perhaps an address behind a comma, a tab or in <>. */
export const invitedIn = (text: string): Invited[] =>
  text.split("\n").flatMap((line) => {
    const [, cohort = "", address = ""] =
      /^(.*?)(?:[,;\t<\s]\s*([^\s,;<>]+@[^\s,;<>]+)>?)?[,;\s]*$/.exec(line) ?? [];
    return cohort.trim() ? [{ cohort: cohort.trim().replace(/[,;]$/, ""), address }] : [];
  });

/** A link that has the reader's mail program write it, to an address or to whom the reader chooses. */
export const mailto = (subject: string, body: string, address = ""): string =>
  `mailto:${encodeURIComponent(address)}?subject=${encodeURIComponent(subject)}&body=${encodeURIComponent(body.replaceAll("\n", "\r\n"))}`;

interface Own {
  check: string[];
  run: string[];
  /** What to put in place of the names of files. */
  files: string;
}

function ofGenotypes(plan: Plan): Own {
  const covariates = plan.covariates ?? [];
  const both = ["--bfile PREFIX"];
  if (plan.phenotype) both.push(`--pheno PHENOTYPES --pheno-name ${quoted(plan.phenotype)}`);
  if (covariates.length) {
    both.push(`--covar COVARIATES --covar-name ${quoted(covariates.map((each) => each.name).join(","))}`);
  }
  if (plan.autosomes && plan.autosomes !== 22) both.push(`--chr-set ${plan.autosomes}`);
  const levels = covariates.flatMap((each) =>
    each.levels?.length ? [`--categorical ${quoted(`${each.name}=${each.levels.join(",")}`)}`] : [],
  );
  const files = [
    t("Put your own files in place of these:"),
    t("PREFIX: the name that your .bed, .bim and .fam share"),
    ...(plan.phenotype
      ? [
          t(
            "PHENOTYPES: the table with the column {{column}}. Leave out both words about it if your .fam has it.",
            { column: plan.phenotype },
          ),
        ]
      : []),
    ...(covariates.length ? [t("COVARIATES: the table with {{names}}", { names: names(covariates) })] : []),
  ];
  return {
    check: [...both, `--trait ${plan.trait ?? "case/control"}`, ...levels],
    run: both,
    files: files.join("\n"),
  };
}

function ofTables(plan: Plan): Own {
  const columns = plan.schema ?? [];
  const isPlain = columns.every(
    ({ type, role, low, high }) =>
      (type ?? "number") === "number" && (role ?? "feature") === "feature" && (low ?? high ?? null) === null,
  );
  const files = [
    t("Put your own file in place of TABLE, a CSV or Parquet file with the columns of the plan:"),
  ];
  files.push(columns.map((column) => column.name).join(", "));
  if (!isPlain) {
    files.push("", t("Save these lines as columns.csv, beside it:"));
    files.push(...schemaLines(columns));
  }
  const table = "--table TABLE";
  return {
    check: isPlain ? [table] : [table, "--schema columns.csv"],
    run: [table],
    files: files.join("\n"),
  };
}

const part = (title: string, lines: readonly string[]): string => [title, ...lines].join("\n");

const command = (what: string, options: readonly string[]): string =>
  ["unpooled/bin/unpooled-client", what, ...options].join(" ");

const apart = (cohort: string): string =>
  t(
    "The invitation comes to you by another way. Save it as invitation.txt, and show it to nobody: whoever has it takes part as {{cohort}}.",
    { cohort },
  );

const inside = (cohort: string, invitation: string): string =>
  [
    t(
      "Save this invitation as invitation.txt, and show it to nobody: whoever has it takes part as {{cohort}}.",
      { cohort },
    ),
    invitation,
  ].join("\n\n");

const names = (covariates: readonly { name: string }[]): string =>
  covariates.map((each) => each.name).join(", ");

/** For a shell, of Windows too. */
const quoted = (word: string): string =>
  /^[\w.,=@%+:/-]+$/.test(word) ? word : `"${word.replace(/(["\\$`])/g, "\\$1")}"`;
