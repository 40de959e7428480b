/** Where else one reads about a variant, a gene or a region: addresses for people to follow; nothing is asked. */
import type { Region } from "./genome";

export interface Link {
  name: string;
  href: string;
}

/** Ensembl shows the older human build on a site of its own; other builds are not the human one's. */
function ensembl(build: string): string | null {
  if (build === "GRCh38") return "https://www.ensembl.org/Homo_sapiens";
  if (build === "GRCh37") return "https://grch37.ensembl.org/Homo_sapiens";
  return null;
}

const CATALOG = "https://www.ebi.ac.uk/gwas";

/** Of a variant that has an rs number; none else. */
export function linksOfVariant(build: string, id: string): Link[] {
  const site = ensembl(build);
  const [rs] = /^rs\d+$/i.exec(id)?.map((text) => text.toLowerCase()) ?? [];
  if (!site || !rs) return [];
  return [
    { name: "dbSNP", href: `https://www.ncbi.nlm.nih.gov/snp/${rs}` },
    { name: "Ensembl", href: `${site}/Variation/Explore?v=${rs}` },
    { name: "GWAS Catalog", href: `${CATALOG}/variants/${rs}` },
  ];
}

export function linksOfGene(build: string, name: string): Link[] {
  const site = ensembl(build);
  if (!site) return [];
  const gene = encodeURIComponent(name);
  return [
    { name: "Ensembl", href: `${site}/Gene/Summary?g=${gene}` },
    { name: "GWAS Catalog", href: `${CATALOG}/genes/${gene}` },
  ];
}

export function linksOfRegion(build: string, { chromosome, from, to }: Region): Link[] {
  const site = ensembl(build);
  if (!site) return [];
  const place = `${chromosome}:${Math.max(from, 1)}-${to}`;
  const links = [{ name: "Ensembl", href: `${site}/Location/View?r=${place}` }];
  // The Catalog's positions are those of GRCh38.
  if (build === "GRCh38") links.push({ name: "GWAS Catalog", href: `${CATALOG}/search?query=${place}` });
  return links;
}
