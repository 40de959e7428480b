/** Manhattan plot, table of loci and QQ plot of one study; the address holds the region and the search. */
import { useQuery } from "@tanstack/react-query";
import { useMemo, useRef, useState } from "react";

import type { Schemas } from "../../../api/client";
import { manhattan, variants, type ResultsOf } from "../../../api/queries";
import { useAddress } from "../../../app/useAddress";
import { useShortcut } from "../../../app/shortcuts/useShortcut";
import { Loaded } from "../../../ui/Loading";
import { genomeOf, kept, readRegion, regionText, type Region } from "./genome";
import { Loci } from "./Loci";
import { Manhattan } from "./Manhattan";
import { QQ } from "./QQ";
import { around, BLOCK, type Variant } from "./rows";

export function Pictures({ study }: { study: ResultsOf }) {
  return (
    <Loaded query={useQuery(manhattan(study))}>
      {(overview) => <Drawn study={study} overview={overview} />}
    </Loaded>
  );
}

function Drawn({ study, overview }: { study: ResultsOf; overview: Schemas["Manhattan"] }) {
  const [address, change] = useAddress();
  const [wanted, setWanted] = useState<Variant | null>(null);
  const genome = useMemo(() => genomeOf(overview.chromosomes), [overview]);
  const { data: loci } = useQuery(variants(study, "", 0, BLOCK));
  const genes = useMemo(() => new Map(loci?.rows.map(({ index, gene }) => [index, gene])), [loci]);
  const text = address.get("region");
  const region = useMemo(() => readRegion(genome, text), [genome, text]);
  const plot = useRef<HTMLDivElement>(null);
  const goTo = (to: Region | null) => change({ region: to ? regionText(to) : "" });
  useShortcut("whole", () => goTo(null));
  const look = (variant: Variant) => {
    setWanted(variant);
    goTo(kept(genome, around(variant)));
    plot.current?.scrollIntoView({ block: "nearest" });
  };
  return (
    <>
      <div ref={plot}>
        <Manhattan
          study={study}
          genome={genome}
          overview={overview}
          region={region}
          onRegion={goTo}
          wanted={wanted}
          genes={genes}
        />
      </div>
      <Loci
        study={study}
        search={address.get("search") ?? ""}
        onSearch={(search) => change({ search })}
        wanted={wanted}
        onLook={look}
      />
      <QQ study={study} />
    </>
  );
}
