import { expect, test } from "vitest";

import { linksOfGene, linksOfRegion, linksOfVariant } from "./lookup";
import { regionOfPlace } from "./places";

const REGION = { chromosome: "16", from: 0, to: 54_000_000 };

test("a variant with an rs number is looked up on the build of its study", () => {
  expect(linksOfVariant("GRCh38", "RS123").map(({ href }) => href)).toEqual([
    "https://www.ncbi.nlm.nih.gov/snp/rs123",
    "https://www.ensembl.org/Homo_sapiens/Variation/Explore?v=rs123",
    "https://www.ebi.ac.uk/gwas/variants/rs123",
  ]);
  expect(linksOfVariant("GRCh37", "rs123")[1]?.href).toContain("//grch37.ensembl.org/");
});

test("other IDs, and builds that are not the human one's, have no links", () => {
  expect(linksOfVariant("GRCh38", "1:1234:A:G")).toEqual([]);
  expect(linksOfVariant("GRCh38", "rs1/../../x")).toEqual([]);
  expect(linksOfVariant("GRCm39", "rs123")).toEqual([]);
  expect(linksOfGene("GRCm39", "Fto")).toEqual([]);
  expect(linksOfRegion("GRCm39", REGION)).toEqual([]);
});

test("a region is looked up by positions that there are, in the Catalog on its own build only", () => {
  expect(linksOfRegion("GRCh38", REGION).map(({ href }) => href)).toEqual([
    "https://www.ensembl.org/Homo_sapiens/Location/View?r=16:1-54000000",
    "https://www.ebi.ac.uk/gwas/search?query=16:1-54000000",
  ]);
  expect(linksOfRegion("GRCh37", REGION).map(({ name }) => name)).toEqual(["Ensembl"]);
});

test("a gene is written into an address as text", () => {
  expect(linksOfGene("GRCh38", "A/B?")[1]?.href).toBe("https://www.ebi.ac.uk/gwas/genes/A%2FB%3F");
});

test("around a gene and a variant there is room; a region is what it says", () => {
  const place = { name: "", chromosome: "16", first: 1_000_000, last: 1_200_000 };
  const found = (kind: "gene" | "place") => regionOfPlace({ ...place, kind });
  expect(found("gene")).toEqual({ chromosome: "16", from: 900_000, to: 1_300_000 });
  expect(found("place")).toEqual({ chromosome: "16", from: 1_000_000, to: 1_200_000 });
  const variant = regionOfPlace({ ...place, kind: "variant", last: place.first });
  expect([variant.from, variant.to]).toEqual([750_000, 1_250_000]);
});
