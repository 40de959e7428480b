import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";

import { Flagged } from "./Flagged";

test("a flag stands small beside the name", () => {
  const html = renderToStaticMarkup(<Flagged label="Least frequency of the rarer allele (--maf)" />);
  expect(html).toMatch(/^Least frequency of the rarer allele <small[^>]*>\(--maf\)<\/small>$/);
});

test("other labels stay as they are", () => {
  for (const label of ["Phenotype", "Sums (of squares)", "(--maf)"])
    expect(renderToStaticMarkup(<Flagged label={label} />)).toBe(label);
});
