/** The Manhattan plot with what leads around in it. */
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import type { Schemas, Study } from "../../../api/client";
import { region as regionQuery } from "../../../api/queries";
import { Button } from "../../../ui/Button";
import { Refusal } from "../../../ui/Callout";
import { Card, Row, Section, Unseen } from "../../../ui/Layout";
import { fileName } from "../../../words/files";
import { plural } from "../../../words/format";
import { megabases, place, pValue, span } from "../../../words/genetics";
import { SaveFigure, useFrame, useWidth } from "./Figure";
import figure from "./Figure.module.css";
import { chromosomeOf, kept, type Genome, type Region } from "./genome";
import styles from "./Manhattan.module.css";
import { ManhattanPlot } from "./ManhattanPlot";
import { moved, type Move } from "./moves";

interface Props {
  study: Study;
  genome: Genome;
  overview: Schemas["Manhattan"];
  region: Region | null;
  onRegion: (region: Region | null) => void;
  wanted: Schemas["Variant"] | null;
}

export function Manhattan({ study, genome, overview, region, onRegion, wanted }: Props) {
  const frame = useFrame();
  const width = useWidth(frame, 1000);
  const { regions, error } = useRegions(study.id, region);
  const newest = regions[0];
  const isThere =
    region === null || (newest?.chromosome === region.chromosome && newest.first === region.from);
  const told = region && isThere ? newest : undefined;
  const summary = told ? regionInWords(told) : overviewInWords(overview);
  const start = wanted ? chromosomeOf(genome, wanted.chromosome)?.start : undefined;
  const wantedPoint = useMemo(
    () =>
      wanted && wanted.neg_log10_p !== null && start !== undefined
        ? { id: wanted.id, at: start + wanted.position, negLog10P: wanted.neg_log10_p }
        : null,
    [wanted, start],
  );
  const name = fileName(
    study.name,
    "manhattan",
    region ? region.chromosome : "",
    region ? megabases(region.from, region.to) : "",
  );
  return (
    <Card>
      <Section
        title="Manhattan plot"
        beside={<SaveFigure frame={frame} name={name} about="Manhattan plot" />}
      >
        <Way genome={genome} region={region} onRegion={onRegion} />
        <Refusal error={error} />
        <figure className={figure.figure} aria-busy={!isThere}>
          <div ref={frame}>
            <ManhattanPlot
              genome={genome}
              overview={overview}
              regions={regions}
              region={region}
              onRegion={onRegion}
              wanted={wantedPoint}
              width={width}
              summary={summary}
            />
          </div>
          <figcaption>
            {caption(overview, region, told)} Diamonds lead a locus; the solid line is the genome-wide
            threshold, the dashed one the suggestive.
          </figcaption>
        </figure>
      </Section>
    </Card>
  );
}

/** The regions told of last, the newest first: the picture goes from one to the next without a gap. */
function useRegions(id: string, region: Region | null) {
  const { data, error } = useQuery({
    ...regionQuery(id, region ?? { chromosome: "", from: 0, to: 0 }),
    enabled: region !== null,
  });
  const [regions, setRegions] = useState<readonly Schemas["Region"][]>([]);
  if (data && data !== regions[0]) setRegions([data, ...regions.slice(0, 1)]);
  return { regions, error };
}

/** Where the reader is, and how to get elsewhere without a mouse on the picture. */
function Way({ genome, region, onRegion }: Pick<Props, "genome" | "region" | "onRegion">) {
  const to = (move: Move) => () => onRegion(moved(genome, region, move));
  const chromosome = region && chromosomeOf(genome, region.chromosome);
  const isPart = region && chromosome && region.to - region.from < chromosome.last;
  const whole = (name: string) =>
    kept(genome, { chromosome: name, from: 0, to: chromosomeOf(genome, name)?.last ?? 0 });
  return (
    <div className={styles.way}>
      <nav aria-label="Part of the genome">
        <ol>
          <Step to={region && (() => onRegion(null))}>Whole genome</Step>
          {region && (
            <Step
              to={isPart ? () => onRegion(whole(region.chromosome)) : null}
            >{`Chromosome ${region.chromosome}`}</Step>
          )}
          {isPart && <Step to={null}>{megabases(region.from, region.to)}</Step>}
        </ol>
      </nav>
      <Row>
        <label>
          <Unseen>Go to</Unseen>
          <select
            value={region?.chromosome ?? ""}
            onChange={(event) => onRegion(event.target.value ? whole(event.target.value) : null)}
          >
            <option value="">All chromosomes</option>
            {genome.chromosomes.map(({ name }) => (
              <option key={name} value={name}>
                Chromosome {name}
              </option>
            ))}
          </select>
        </label>
        <Button onClick={to("left")} disabled={!isPart} aria-label="Move left">
          ←
        </Button>
        <Button onClick={to("right")} disabled={!isPart} aria-label="Move right">
          →
        </Button>
        <Button onClick={to("in")} aria-label="Zoom in">
          +
        </Button>
        <Button onClick={to("out")} disabled={!region} aria-label="Zoom out">
          −
        </Button>
        <Button onClick={() => onRegion(null)} disabled={!region}>
          Reset
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
  const loci = leads.length ? plural(leads.length, "locus", "loci") : "no locus";
  return (
    `Manhattan plot: ${plural(variants, "variant")} on ${plural(chromosomes.length, "chromosome")}, ` +
    `${loci} at or below the suggestive line.${strongestInWords(points, (i) => points.chromosome[i] ?? "")} ` +
    "The table of loci has the numbers."
  );
}

function regionInWords({ variants, chromosome, first, last, points }: Schemas["Region"]): string {
  return (
    `Manhattan plot of chromosome ${chromosome}, ${megabases(first, last)}: ` +
    `${plural(variants, "variant")}.${strongestInWords(points, () => chromosome)}`
  );
}

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
  const where = place(chromosome(most), position);
  return ` The strongest is ${points.id[most] ?? ""} at ${where} with P ${pValue(points.neg_log10_p[most])}.`;
}

/** What is drawn, and how to look closer. */
function caption(
  overview: Schemas["Manhattan"],
  region: Region | null,
  told: Schemas["Region"] | undefined,
): string {
  if (!region) {
    const missing = overview.without_p ? ` ${plural(overview.without_p, "variant")} have no P.` : "";
    const drawn = overview.segments.column.length
      ? `${plural(overview.variants, "variant")}: the strongest as points, the others as the range they fill.`
      : `${plural(overview.variants, "variant")}.`;
    return `${drawn}${missing} Drag across a part to zoom.`;
  }
  if (!told) return "Loading this part…";
  const size = span(region.to - region.from);
  return told.cell
    ? `${plural(told.variants, "variant")} on ${size}: the strongest as points, the others as the range they fill.`
    : `${plural(told.variants, "variant")} on ${size}, each a point.`;
}
