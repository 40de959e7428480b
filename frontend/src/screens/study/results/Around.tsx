/** Beside the picture of a region: its genes as a list, and where else one reads about what is there. */
import type { Schemas } from "../../../api/client";
import { Button } from "../../../ui/Button";
import { Unseen } from "../../../ui/Layout";
import { Table, type Column } from "../../../ui/Table";
import { count } from "../../../words/format";
import { megabases, span } from "../../../words/genetics";
import type { Gene } from "./genes";
import type { Region } from "./genome";
import { linksOfGene, linksOfRegion, linksOfVariant, type Link } from "./lookup";
import styles from "./Around.module.css";
import { genes as counted } from "../../../words/counted";
import { message, plural, t, type Message } from "../../../words/language";

interface Props {
  region: Region;
  surroundings: Schemas["Surroundings"];
  /** The variant that stands for the region. */
  variant: string;
  onRegion: (region: Region) => void;
}

export function Around({ region, surroundings, variant, onRegion }: Props) {
  const { build, genes, genes_source: source, count: many } = surroundings;
  const where = `${region.chromosome}:${megabases(region.from, region.to)}`;
  return (
    <div className={styles.around}>
      <Links about={variant} links={linksOfVariant(build, variant)} />
      <Links about={where} links={linksOfRegion(build, region)} />
      {genes.length > 0 && (
        <details>
          <summary>
            {plural(
              many,
              "{{n}} gene in this region, from {{source}}",
              "{{n}} genes in this region, from {{source}}",
              {
                source,
              },
            )}
          </summary>
          <GeneTable build={build} chromosome={region.chromosome} genes={genes} onRegion={onRegion} />
        </details>
      )}
      {!source && (
        <p>
          {t(
            "No genes are known of the build {{build}}. The operator of this platform can add them from a GTF file.",
            { build },
          )}
        </p>
      )}
      {many > genes.length && (
        <p>{t("{{genes}} are in this region: zoom in to see them.", { genes: counted(many) })}</p>
      )}
    </div>
  );
}

function Links({ about, links }: { about: string; links: readonly Link[] }) {
  if (!links.length) return null;
  return (
    <p className={styles.links}>
      <span>{about}</span>
      {links.map((link) => (
        <Outside key={link.name} link={link} about={about} />
      ))}
    </p>
  );
}

/** A link to another site, in a window of its own, which is not told where the reader came from. */
function Outside({ link: { name, href }, about }: { link: Link; about: string }) {
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {name}
      <span aria-hidden="true"> ↗</span>
      <Unseen> {t("about {{about}}, in a new window", { about })}</Unseen>
    </a>
  );
}

const KINDS: Record<Gene["kind"], Message> = { coding: message("protein"), RNA: () => "RNA" };
const STRANDS: Record<Gene["strand"], Message> = {
  "+": message("forward"),
  "-": message("reverse"),
  ".": message("not known"),
};
const MARGIN = 0.2; // of a gene's length, to either side of it

interface GeneTableProps {
  build: string;
  chromosome: string;
  genes: readonly Gene[];
  onRegion: (region: Region) => void;
}

function GeneTable({ build, chromosome, genes, onRegion }: GeneTableProps) {
  const look = ({ start, end }: Gene) => {
    const margin = MARGIN * (end - start);
    onRegion({ chromosome, from: start - margin, to: end + margin });
  };
  const columns: Column<Gene>[] = [
    {
      title: t("Gene"),
      cell: (gene) => (
        <Button look="quiet" onClick={() => look(gene)}>
          {gene.name}
        </Button>
      ),
    },
    { title: t("First base"), cell: ({ start }) => count(start), isNumber: true },
    { title: t("Last base"), cell: ({ end }) => count(end), isNumber: true },
    { title: t("Length"), cell: ({ start, end }) => span(end - start + 1), isNumber: true },
    { title: t("Strand"), cell: ({ strand }) => STRANDS[strand]() },
    { title: t("Codes for"), cell: ({ kind }) => KINDS[kind]() },
    {
      title: t("Elsewhere"),
      cell: ({ name }) => (
        <span className={styles.links}>
          {linksOfGene(build, name).map((link) => (
            <Outside key={link.name} link={link} about={name} />
          ))}
        </span>
      ),
    },
  ];
  return (
    <Table
      caption={t("Genes in this region")}
      columns={columns}
      rows={genes}
      rowKey={({ name, start }) => `${name} ${start}`}
    />
  );
}
