/** What lies in a region: genes, and where it recombines. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { surroundings as surroundingsQuery, type ResultsOf } from "../../../api/queries";
import type { Region } from "./genome";
import { WIDEST } from "./Tracks";

/** Of a region that is not too wide for names of genes; of the one before until they are there. */
export function useSurroundings(of: ResultsOf, region: Region | null) {
  const isNarrow = region !== null && region.to - region.from <= WIDEST;
  const { data, error, isLoading } = useQuery({
    ...surroundingsQuery(of, region ?? { chromosome: "", from: 0, to: 0 }),
    enabled: isNarrow,
    placeholderData: keepPreviousData,
  });
  const isHere = isNarrow && data?.chromosome === region.chromosome;
  return { surroundings: isHere ? data : null, isPending: isLoading, problem: error };
}
