import { expect, test } from "vitest";

import { invitationMessage, invitedIn, mailto } from "./invitation";

const COLUMNS = [{ name: "age" }, { name: "smoking", levels: ["never", "former"] }];
const GENOTYPES = {
  test: "logistic",
  trait: "case/control",
  phenotype: "asthma",
  covariates: COLUMNS,
} as const;
const asked = (plan: object) => ({
  study: "Asthma",
  cohort: "Graz",
  coordinator: "Ada",
  plan: plan as Parameters<typeof invitationMessage>[0]["plan"],
});

test("the commands name the columns of the plan", () => {
  const said = invitationMessage(asked(GENOTYPES));
  const files =
    "--bfile PREFIX --pheno PHENOTYPES --pheno-name asthma --covar COVARIATES --covar-name age,smoking";
  expect(said).toContain(
    `unpooled-client check ${files} --trait case/control --categorical smoking=never,former\n`,
  );
  expect(said).toContain(`unpooled-client run invitation.txt ${files}\n`);
});

test("without covariates there is no word of them", () => {
  expect(invitationMessage(asked({ ...GENOTYPES, covariates: [] })).toLowerCase()).not.toContain("covar");
});

test("a name with blanks or quotes is one word of the command", () => {
  const said = invitationMessage(asked({ ...GENOTYPES, phenotype: 'the "$HOME" of it' }));
  expect(said).toContain('--pheno-name "the \\"\\$HOME\\" of it" ');
});

test("a study of tables asks for a table, with the types of its columns where they are not all numbers", () => {
  const plan = { test: "z-score", trait: "none", phenotype: "", schema: [{ name: "glucose" }] };
  const plain = invitationMessage(asked(plan));
  expect(plain).toContain("unpooled-client check --table TABLE\n");
  expect(plain).not.toContain("columns.csv");
  const schema = [...plan.schema, { name: "site", type: "text" }];
  const typed = invitationMessage(asked({ ...plan, schema }));
  expect(typed).toContain("unpooled-client check --table TABLE --schema columns.csv\n");
  expect(typed).toContain(
    "name,type,unit,role,encoding,values,low,high\nglucose,number,,,,,,\nsite,text,,,,,,",
  );
  expect(typed).not.toContain("--bfile");
});

test("the invitation stands in the message only if it is to", () => {
  expect(invitationMessage(asked(GENOTYPES))).toContain("comes to you by another way");
  const said = invitationMessage({ ...asked(GENOTYPES), invitation: "unpooled:secret" });
  expect(said).toContain("unpooled:secret");
  expect(said).not.toContain("by another way");
});

test("a mail program gets the text as it is", () => {
  expect(mailto("A & B", "one\ntwo?")).toBe("mailto:?subject=A%20%26%20B&body=one%0D%0Atwo%3F");
  expect(mailto("A", "b", "c@d.org")).toBe("mailto:c%40d.org?subject=A&body=b");
});

test("a pasted list has a cohort a line, with or without an address", () => {
  const text = "Graz\n\n Hospital, Munich , a@b.org \nTartu\tc@d.ee\nGraz & Co <e@f.at>\nLyon;g@h.fr";
  expect(invitedIn(text)).toEqual([
    { cohort: "Graz", address: "" },
    { cohort: "Hospital, Munich", address: "a@b.org" },
    { cohort: "Tartu", address: "c@d.ee" },
    { cohort: "Graz & Co", address: "e@f.at" },
    { cohort: "Lyon", address: "g@h.fr" },
  ]);
});
