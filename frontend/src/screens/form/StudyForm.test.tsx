import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { afterEach, expect, test } from "vitest";

import { ApiError, type Method } from "../../api/client";
import { fresh, toPlan, type Form } from "./form";
import { StudyForm } from "./StudyForm";

afterEach(cleanup);

const LOGISTIC: Method = {
  name: "logistic",
  title: "Logistic regression",
  of_tables: false,
  traits: ["case/control"],
  files: ["assoc", "glm"],
  options: [
    "covariates",
    "cohort_sums",
    "missing",
    "maf",
    "geno",
    "hwe",
    "mind",
    "max_iterations",
    "tolerance",
    "glm_cols",
  ],
  usual: { test: "logistic", trait: "case/control", phenotype: "", cohorts: 3, min_samples: 50, maf: 0 },
};

const QUANTILES: Method = {
  ...LOGISTIC,
  name: "quantiles",
  title: "Quantiles",
  of_tables: true,
  traits: ["none"],
  files: ["quantiles"],
  options: ["quantiles", "elements"],
  usual: { ...LOGISTIC.usual, test: "quantiles", trait: "none", panel_mode: "none" },
};

function Filled({ error = null, sent = [] }: { error?: ApiError | null; sent?: Form[] }) {
  const [form, setForm] = useState(() => fresh(LOGISTIC));
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
  expect(sent[0]?.numbers.tolerance).toBe("1e-4");
});

test("what the server refuses is said at its field, which takes the focus", () => {
  const error = new ApiError(400, "plan", "The plan cannot be.", "Change it.", {
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
  expect(screen.queryByLabelText("A covariate may tell cohorts apart")).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "Add a covariate" }));
  await userEvent.click(screen.getByLabelText("A covariate may tell cohorts apart"));
  await userEvent.click(screen.getByRole("button", { name: "Create" }));
  const [form = fresh(LOGISTIC)] = sent;
  expect(fresh(LOGISTIC).flags.cohort_sums).toBe(false);
  expect(toPlan(form, LOGISTIC).cohort_sums).toBe(true);
});

test("a list is checked while it is typed", async () => {
  render(<Filled />);
  await userEvent.click(screen.getByLabelText("Tables"));
  const field = screen.getByLabelText("Quantiles", { selector: "input:not([type=radio])" });
  await userEvent.type(field, "0.5, -");
  expect(field.getAttribute("aria-invalid")).toBe("false");
  await userEvent.type(field, "1");
  expect(field.getAttribute("aria-invalid")).toBe("true");
  expect(screen.getByText("got “-1”; want numbers from 0 to 1")).toBeTruthy();
});
