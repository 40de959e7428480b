/** The Manhattan plot with what leads around in it. */
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import type { Schemas } from "../../../api/client";
import { region as regionQuery, type ResultsOf } from "../../../api/queries";
import { Button } from "../../../ui/Button";
import { Refusal } from "../../../ui/Callout";
import { Card, Row, Section, Unseen } from "../../../ui/Layout";
import { sentences } from "../../../words/format";
import { megabases, place, pValue, span } from "../../../words/genetics";
import { Around } from "./Around";
import { useFrame, useWidth } from "./Figure";
import figure from "./Figure.module.css";
import { chromosomeOf, kept, type Genome, type Region } from "./genome";
import { GoTo } from "./GoTo";
import styles from "./Manhattan.module.css";
import type { GenesOfLeads } from "./ManhattanMarks";
import { ManhattanPanels } from "./ManhattanPanels";
import { ManhattanPlot } from "./ManhattanPlot";
import { moved, type Move } from "./moves";
import { useSurroundings } from "./surroundings";
import * as counted from "../../../words/counted";
import { plural, t } from "../../../words/language";

interface Props {
  study: ResultsOf;
  genome: Genome;
  overview: Schemas["Manhattan"];
  region: Region | null;
  onRegion: (region: Region | null) => void;
  wanted: Schemas["Variant"] | null;
  genes: GenesOfLeads;
}

export function Manhattan({ study, genome, overview, region, onRegion, wanted, genes }: Props) {
  const frame = useFrame();
  const width = useWidth(frame, 1000);
  const { regions, error } = useRegions(study, region);
  const newest = regions[0];
  const isThere =
    region === null || (newest?.chromosome === region.chromosome && newest.first === region.from);
  const told = region && isThere ? newest : undefined;
  const { surroundings, problem } = useSurroundings(study, region);
  const summary = told ? regionInWords(told) + genesInWords(surroundings) : overviewInWords(overview);
  const start = wanted ? chromosomeOf(genome, wanted.chromosome)?.start : undefined;
  const wantedPoint = useMemo(
    () =>
      wanted && wanted.neg_log10_p !== null && start !== undefined
        ? { id: wanted.id, at: start + wanted.position, negLog10P: wanted.neg_log10_p }
        : null,
    [wanted, start],
  );
  return (
    <Card>
      <Section
        title={t("Manhattan plot")}
        beside={<Way study={study} genome={genome} region={region} onRegion={onRegion} />}
      >
        <Refusal error={error ?? problem} />
        <figure className={figure.figure} aria-busy={!isThere}>
          <div ref={frame}>
            <ManhattanPlot
              genome={genome}
              overview={overview}
              regions={regions}
              region={region}
              onRegion={onRegion}
              wanted={wantedPoint}
              surroundings={surroundings}
              genes={genes}
              width={width}
              summary={summary}
            />
          </div>
          <figcaption>
            {sentences(
              ...caption(overview, region, told),
              t(
                "Diamonds lead a locus; the solid line is the genome-wide threshold, the dashed one the suggestive.",
              ),
              genesToldOf(surroundings),
            )}
          </figcaption>
          <ManhattanPanels study={study} genome={genome} overview={overview} genes={genes} region={region} />
        </figure>
        {region && surroundings && (
          <Around
            region={region}
            surroundings={surroundings}
            variant={isIn(region, wanted) ? wanted.id : told ? strongestOf(told.points) : ""}
            onRegion={(to) => onRegion(kept(genome, to))}
          />
        )}
      </Section>
    </Card>
  );
}

/** The regions told of last, the newest first: the picture goes from one to the next without a gap. */
function useRegions(of: ResultsOf, region: Region | null) {
  const { data, error } = useQuery({
    ...regionQuery(of, region ?? { chromosome: "", from: 0, to: 0 }),
    enabled: region !== null,
  });
  const [regions, setRegions] = useState<readonly Schemas["Region"][]>([]);
  if (data && data !== regions[0]) setRegions([data, ...regions.slice(0, 1)]);
  return { regions, error };
}

/** Where the reader is, and how to get elsewhere without a mouse on the picture. */
function Way({ study, genome, region, onRegion }: Pick<Props, "study" | "genome" | "region" | "onRegion">) {
  const to = (move: Move) => () => onRegion(moved(genome, region, move));
  const chromosome = region && chromosomeOf(genome, region.chromosome);
  const isPart = region && chromosome && region.to - region.from < chromosome.last;
  const whole = (name: string) =>
    kept(genome, { chromosome: name, from: 0, to: chromosomeOf(genome, name)?.last ?? 0 });
  return (
    <div className={styles.way}>
      <nav aria-label={t("Part of the genome")}>
        <ol>
          <Step to={region && (() => onRegion(null))}>{t("Whole genome")}</Step>
          {region && (
            <Step to={isPart ? () => onRegion(whole(region.chromosome)) : null}>
              {t("Chromosome {{chromosome}}", { chromosome: region.chromosome })}
            </Step>
          )}
          {isPart && <Step to={null}>{megabases(region.from, region.to)}</Step>}
        </ol>
      </nav>
      <GoTo study={study} genome={genome} onRegion={(to) => onRegion(kept(genome, to))} />
      <Row>
        <label>
          <Unseen>{t("Go to")}</Unseen>
          <select
            value={region?.chromosome ?? ""}
            onChange={(event) => onRegion(event.target.value ? whole(event.target.value) : null)}
          >
            <option value="">{t("All chromosomes")}</option>
            {genome.chromosomes.map(({ name }) => (
              <option key={name} value={name}>
                {t("Chromosome {{name}}", { name })}
              </option>
            ))}
          </select>
        </label>
        <Button onClick={to("left")} disabled={!isPart} aria-label={t("Move left")}>
          ←
        </Button>
        <Button onClick={to("right")} disabled={!isPart} aria-label={t("Move right")}>
          →
        </Button>
        <Button onClick={to("in")} aria-label={t("Zoom in")}>
          +
        </Button>
        <Button onClick={to("out")} disabled={!region} aria-label={t("Zoom out")}>
          −
        </Button>
      </Row>
    </div>
  );
}

function Step({ to, children }: { to: (() => void) | null; children: string }) {
  return (
    <li>
      {to ? (
        <Button look="quiet" onClick={to}>
          {children}
        </Button>
      ) : (
        <span aria-current="location">{children}</span>
      )}
    </li>
  );
}

function overviewInWords({ variants, chromosomes, points, leads }: Schemas["Manhattan"]): string {
  return sentences(
    t("Manhattan plot: {{variants}} on {{chromosomes}}, {{loci}} at or below the suggestive line.", {
      variants: counted.variants(variants),
      chromosomes: counted.chromosomes(chromosomes.length),
      loci: leads.length ? counted.loci(leads.length) : t("no locus"),
    }),
    strongestInWords(points, (i) => points.chromosome[i] ?? ""),
    t("The table of loci has the numbers."),
  );
}

function regionInWords({ variants, chromosome, first, last, points }: Schemas["Region"]): string {
  return sentences(
    t("Manhattan plot of chromosome {{chromosome}}, {{where}}: {{variants}}.", {
      chromosome,
      where: megabases(first, last),
      variants: counted.variants(variants),
    }),
    strongestInWords(points, () => chromosome),
  );
}

/** The genes that are drawn, for those who hear the picture. */
function genesInWords(surroundings: Schemas["Surroundings"] | null): string {
  const names = surroundings?.genes.map(({ name }) => name) ?? [];
  if (!names.length) return "";
  const said = { names: names.slice(0, NAMED).join(", "), more: names.length - NAMED };
  return said.more > 0 ? t("Genes: {{names}} and {{more}} more.", said) : t("Genes: {{names}}.", said);
}

const NAMED = 12; // genes; the list below the picture has all

const genesToldOf = (surroundings: Schemas["Surroundings"] | null): string =>
  surroundings?.genes.length
    ? t("Genes: filled bars code for proteins, outlined ones for RNA; arrows point along the strand.")
    : "";

const isIn = (region: Region, variant: Schemas["Variant"] | null): variant is Schemas["Variant"] =>
  variant?.chromosome === region.chromosome &&
  variant.position >= region.from &&
  variant.position <= region.to;

const strongestOf = ({ id, neg_log10_p }: Schemas["RegionPoints"]): string =>
  id[neg_log10_p.indexOf(Math.max(...neg_log10_p))] ?? "";

function strongestInWords(
  points: { id: string[]; position: number[]; neg_log10_p: number[] },
  chromosome: (i: number) => string,
): string {
  const most = points.neg_log10_p.reduce(
    (best, each, i) => (each > (points.neg_log10_p[best] ?? 0) ? i : best),
    0,
  );
  const position = points.position[most];
  if (position === undefined) return "";
  return t("The strongest is {{id}} at {{where}} with P {{p}}.", {
    id: points.id[most] ?? "",
    where: place(chromosome(most), position),
    p: pValue(points.neg_log10_p[most]),
  });
}

/** What is drawn, and how to look closer. */
function caption(
  overview: Schemas["Manhattan"],
  region: Region | null,
  told: Schemas["Region"] | undefined,
): string[] {
  if (!region) {
    const variants = counted.variants(overview.variants);
    return [
      overview.segments.column.length
        ? t("{{variants}}: the strongest as points, the others as the range they fill.", { variants })
        : `${variants}.`,
      overview.without_p
        ? plural(overview.without_p, "{{n}} variant has no P.", "{{n}} variants have no P.")
        : "",
      t("Drag across a part to zoom."),
    ];
  }
  if (!told) return [t("Loading this part…")];
  const said = { variants: counted.variants(told.variants), size: span(region.to - region.from) };
  return [
    told.cell
      ? t("{{variants}} on {{size}}: the strongest as points, the others as the range they fill.", said)
      : t("{{variants}} on {{size}}, each a point.", said),
    told.linkage ? t("Colours tell r² with {{lead}}.", { lead: told.linkage.lead }) : "",
    told.credible?.sets.length
      ? plural(
          told.credible.sets.length,
          "Halos mark {{n}} credible set: of its variants one has an effect, with a probability of 95 %.",
          "Halos mark {{n}} credible sets: of the variants of each one has an effect, with a probability of 95 %.",
        )
      : "",
  ];
}
