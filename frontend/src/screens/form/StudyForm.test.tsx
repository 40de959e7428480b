import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { afterEach, expect, test } from "vitest";

import { ApiError } from "../../api/client";
import { method, option } from "./examples";
import { fresh, toPlan, type Form } from "./form";
import { StudyForm } from "./StudyForm";

afterEach(cleanup);

const FIRTH = ["firth-fallback", "no-firth"].map((value) => ({ value, title: value, hint: "" }));

const LOGISTIC = method(
  "logistic",
  [
    option("covariates", "covariates", { title: "Covariates" }),
    option("cohort_sums", "switch", { title: "Sums over one cohort", needs: "covariates" }),
    option("firth", "choice", { title: "Firth's fit", file: "glm", answers: FIRTH }),
    option("maf", "number", { title: "Frequency", place: "filters", wanted: "a number from 0 to 0.5" }),
    option("tolerance", "number", { title: "Tolerance", place: "more", wanted: "a number from 0 to 1" }),
  ],
  ["assoc", "glm"],
  { trait: "case/control", min_samples: 50, maf: 0, firth: "firth-fallback" },
  { templates: [{ name: "qc", title: "QC", hint: "", covariates: [], plan: { maf: 0.01 } }] },
);

const QUANTILES = method(
  "quantiles",
  [option("quantiles", "numbers", { title: "Quantiles", least: 0, most: 1, wanted: "numbers from 0 to 1" })],
  ["quantiles"],
  { trait: "none", panel_mode: "none" },
  { title: "Order statistics", of_tables: true },
);

function Filled({ error = null, sent = [] }: { error?: ApiError | null; sent?: Form[] }) {
  const [form, setForm] = useState(() => ({ ...fresh(LOGISTIC), name: "Wave two", phenotype: "asthma" }));
  return (
    <StudyForm
      form={form}
      onChange={setForm}
      methods={[LOGISTIC, QUANTILES]}
      error={error}
      busy={false}
      submit="Create"
      onSubmit={() => sent.push(form)}
    />
  );
}

test("the first field that is wrong takes the focus, though it stands under “More rules”", async () => {
  const sent: Form[] = [];
  render(<Filled sent={sent} />);
  await userEvent.type(screen.getByLabelText("Tolerance"), "small");
  await userEvent.click(screen.getByRole("button", { name: "Create" }));
  const field = screen.getByLabelText("Tolerance");
  expect(document.activeElement).toBe(field);
  expect(field.getAttribute("aria-invalid")).toBe("true");
  expect(field.closest("details")?.open).toBe(true);
  expect(sent).toEqual([]);
  await userEvent.clear(field);
  await userEvent.type(field, "1e-4");
  await userEvent.click(screen.getByRole("button", { name: "Create" }));
  expect(sent[0]?.options.tolerance).toBe("1e-4");
});

test("what is about one result file stands there once that file is chosen", async () => {
  const sent: Form[] = [];
  render(<Filled sent={sent} />);
  expect(screen.queryByText("Firth's fit")).toBeNull();
  await userEvent.click(screen.getByLabelText("glm"));
  expect(screen.getByText("Firth's fit")).toBeTruthy();
  await userEvent.click(screen.getByLabelText("no-firth"));
  await userEvent.click(screen.getByRole("button", { name: "Create" }));
  expect(sent[0]?.options.firth).toBe("no-firth");
});

test("what the server refuses is said at its field, which takes the focus", () => {
  const error = new ApiError(400, "plan", "This plan is not valid.", "Change it.", {
    "plan.phenotype": "name the phenotype",
  });
  const { rerender } = render(<Filled />);
  rerender(<Filled error={error} />);
  expect(document.activeElement).toBe(screen.getByLabelText("Trait"));
  expect(screen.getByText("name the phenotype")).toBeTruthy();
});

test("with a covariate it can be allowed to tell cohorts apart", async () => {
  const sent: Form[] = [];
  render(<Filled sent={sent} />);
  expect(screen.queryByLabelText("Sums over one cohort")).toBeNull();
  await userEvent.type(screen.getByLabelText("Name in the cohorts' files"), "age, site{Enter}");
  await userEvent.selectOptions(screen.getByLabelText("Type of site"), "Categorical");
  await userEvent.type(screen.getByLabelText("Levels of site, the reference first"), "a, b");
  await userEvent.click(screen.getByRole("button", { name: "Remove age" }));
  expect(document.activeElement).toBe(screen.getByLabelText("Name in the cohorts' files"));
  await userEvent.click(screen.getByLabelText("Sums over one cohort"));
  await userEvent.click(screen.getByRole("button", { name: "Create" }));
  const [form = fresh(LOGISTIC)] = sent;
  expect(fresh(LOGISTIC).options.cohort_sums).toBe(false);
  expect(toPlan(form, LOGISTIC).cohort_sums).toBe(true);
  expect(toPlan(form, LOGISTIC).covariates).toEqual([{ name: "site", levels: ["a", "b"] }]);
});

test("a list is checked while it is typed", async () => {
  render(<Filled />);
  await userEvent.click(screen.getByLabelText("T"));
  const field = screen.getByLabelText("Quantiles");
  await userEvent.type(field, "0.5, -");
  expect(field.getAttribute("aria-invalid")).toBe("false");
  await userEvent.type(field, "1");
  expect(field.getAttribute("aria-invalid")).toBe("true");
  expect(screen.getByText("numbers from 0 to 1, not “-1”")).toBeTruthy();
});

test("a filter is off, or a number that begins as in a template", async () => {
  const sent: Form[] = [];
  render(<Filled sent={sent} />);
  const filter = screen.getByLabelText("Frequency");
  expect(screen.queryByLabelText("Limit: Frequency")).toBeNull();
  await userEvent.click(filter);
  const limit = screen.getByLabelText<HTMLInputElement>("Limit: Frequency");
  expect(limit.value).toBe("0.01");
  await userEvent.clear(limit);
  await userEvent.click(screen.getByRole("button", { name: "Create" }));
  expect(document.activeElement).toBe(limit);
  await userEvent.type(limit, "0.05"); // by way of 0, which would be off
  await userEvent.click(screen.getByRole("button", { name: "Create" }));
  await userEvent.click(filter);
  await userEvent.click(screen.getByRole("button", { name: "Create" }));
  expect(sent.map((form) => toPlan(form, LOGISTIC).maf)).toEqual([0.05, 0]);
});

test("all that is wrong is listed, each with a link to its field", async () => {
  render(<Filled />);
  await userEvent.clear(screen.getByLabelText("Trait"));
  await userEvent.clear(screen.getByLabelText("Name of the study"));
  await userEvent.click(screen.getByRole("button", { name: "Create" }));
  expect(await screen.findByText("2 fields to correct")).toBeTruthy();
  await userEvent.click(screen.getByRole("link", { name: "Trait" }));
  expect(document.activeElement).toBe(screen.getByLabelText("Trait"));
  await userEvent.type(screen.getByLabelText("Trait"), "asthma");
  expect(await screen.findByText("1 field to correct")).toBeTruthy();
});
