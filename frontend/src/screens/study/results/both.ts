/** What two studies have in common. */
import type { Schemas } from "../../../api/client";
import { genomeOf, type Genome } from "./genome";

type Manhattan = Schemas["Manhattan"];

/** One axis for two studies: every chromosome of either, as far as either reaches. */
export function genomeOfBoth([first, second]: readonly [Manhattan, Manhattan]): Genome {
  const last = new Map(first.chromosomes.map((each) => [each.name, each.last]));
  const names = first.chromosomes.map(({ name }) => name);
  let before = -1; // where the chromosome that came last stands
  for (const { name, last: end } of second.chromosomes) {
    const at = names.indexOf(name);
    if (at < 0) names.splice(before + 1, 0, name);
    before = names.indexOf(name);
    last.set(name, Math.max(end, last.get(name) ?? 0));
  }
  return genomeOf(names.map((name) => ({ name, last: last.get(name) ?? 0 })));
}
