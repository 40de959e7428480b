/** Manhattan plots as panels of figures: of the whole genome, of the region that is looked at, of the strongest loci. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import type { Schemas } from "../../../api/client";
import { region as regionQuery, variants, type ResultsOf } from "../../../api/queries";
import { fileName } from "../../../words/files";
import { megabases } from "../../../words/genetics";
import { t } from "../../../words/language";
import { MakeFigure, Offered, type Panel } from "./figures";
import { kept, regionText, windowOf, type Genome, type Region } from "./genome";
import { overviewLayer, regionLayer } from "./layer";
import { ManhattanMarks, marginsOf, type GenesOfLeads } from "./ManhattanMarks";
import { sizeOf, tracksOf } from "./ManhattanPlot";
import { around, BLOCK, sorted } from "./rows";
import { useSurroundings } from "./surroundings";

const LOCI = 12; // that are offered, the strongest

interface Props {
  study: ResultsOf;
  genome: Genome;
  overview: Schemas["Manhattan"];
  genes: GenesOfLeads;
  region: Region | null;
}

export function ManhattanPanels({ region, ...props }: Props) {
  const { study, genome } = props;
  const { data: loci } = useQuery(variants(study, "", 0, BLOCK));
  const strongest = sorted(loci?.rows ?? [], { key: "p", isDown: false }).slice(0, LOCI);
  const whole: Panel = {
    about: t("Manhattan plot"),
    file: fileName(study.name, "manhattan"),
    isWide: true,
    draw: (width) => <Printed {...props} width={width} />,
  };
  const panelOf = (of: Region, about: string): Panel => ({
    about,
    file: fileName(study.name, "manhattan", of.chromosome, megabases(of.from, of.to)),
    isWide: true,
    draw: (width) => <OfRegion {...props} region={kept(genome, of) ?? of} width={width} />,
  });
  return (
    <>
      {region ? <Offered {...whole} /> : <MakeFigure {...whole} />}
      {region && (
        <MakeFigure
          key={regionText(region)}
          {...panelOf(
            region,
            t("Region {{where}}", { where: `${region.chromosome}:${megabases(region.from, region.to)}` }),
          )}
        />
      )}
      {strongest.map((row) => (
        <Offered
          key={row.index}
          {...panelOf(
            around(row),
            t("Locus of {{name}}", { name: row.gene ? `${row.id} (${row.gene})` : row.id }),
          )}
        />
      ))}
    </>
  );
}

interface PrintedProps extends Omit<Props, "region"> {
  region?: Region;
  /** What the server told of the region. */
  told?: Schemas["Region"];
  surroundings?: Schemas["Surroundings"] | null;
  width: number;
}

function Printed({ genome, overview, genes, region, told, surroundings = null, width }: PrintedProps) {
  const size = useMemo(() => sizeOf(width), [width]);
  const layer = useMemo(
    () => (told ? regionLayer(genome, told, size) : overviewLayer(genome, overview, size)),
    [genome, overview, told, size],
  );
  return (
    <ManhattanMarks
      genome={genome}
      layer={layer}
      seen={windowOf(genome, region ?? null)}
      size={size}
      margins={marginsOf(width)}
      limits={overview}
      summary=""
      pointed={null}
      wanted={null}
      drag={null}
      tracks={tracksOf(genome, region ?? null, surroundings, size.width)}
      genes={genes}
    />
  );
}

/** Nothing until all of it is known. */
function OfRegion({ region, ...props }: PrintedProps & { region: Region }) {
  const { data: told } = useQuery(regionQuery(props.study, region));
  const { surroundings, isPending } = useSurroundings(props.study, region);
  if (!told || isPending) return null;
  return <Printed {...props} region={region} told={told} surroundings={surroundings} />;
}
