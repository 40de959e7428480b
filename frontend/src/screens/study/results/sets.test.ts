import { expect, test } from "vitest";

import { readSets } from "./sets";

const TEXT = `CHROM GENPOS ID ALLELE0 ALLELE1 A1FREQ N TEST BETA SE CHISQ LOG10P EXTRA
1 5 g.LoF ref LoF 0.01 99 ADD 0.5 0.2 6.2 1.9 VARIANTS=2;COLLAPSED=3;LEFT_OUT=0
1 5 g.LoF ref LoF 0.01 99 ADD-SKAT NA NA 1 0.5 VARIANTS=2;COLLAPSED=3;LEFT_OUT=0
1 5 g.LoF ref LoF 0.01 99 ADD-SKATO NA NA 2 1.5 VARIANTS=2;COLLAPSED=3;LEFT_OUT=0
1 5 g.LoF ref LoF 0.01 99 ADD-ACATV NA NA 1 0.7 VARIANTS=2;COLLAPSED=3;LEFT_OUT=0
X 7 few ref set NA NA ADD NA NA NA NA FEW_CARRIERS
X 7 few ref set NA NA ADD-SKAT NA NA NA NA FEW_CARRIERS
X 7 few ref set NA NA ADD-SKATO NA NA NA NA FEW_CARRIERS
X 7 few ref set NA NA ADD-ACATV NA NA NA NA FEW_CARRIERS
2 6 h ref set 0.02 99 ADD NA NA NA NA VARIANTS=1;COLLAPSED=0;LEFT_OUT=1
2 6 h ref set 0.02 99 ADD-SKAT NA NA 30 8.5 VARIANTS=1;COLLAPSED=0;LEFT_OUT=1
2 6 h ref set 0.02 99 ADD-SKATO NA NA 30 7.5 VARIANTS=1;COLLAPSED=0;LEFT_OUT=1
2 6 h ref set 0.02 99 ADD-ACATV NA NA 30 6.5 VARIANTS=1;COLLAPSED=0;LEFT_OUT=1
`;

test("sets are read with their tests, those of the least P first", () => {
  const { tested, without } = readSets(TEXT);
  expect(tested.map(({ id, variants }) => [id, variants])).toEqual([
    ["h", 1],
    ["g.LoF", 5],
  ]);
  expect(tested[1]?.p).toEqual({ ADD: 1.9, "ADD-SKAT": 0.5, "ADD-SKATO": 1.5, "ADD-ACATV": 0.7 });
  expect(tested[0]?.p.ADD).toBeNull();
  expect(without).toBe(1);
});

test("a file without sets has none", () => {
  expect(readSets("CHROM GENPOS\n")).toEqual({ tested: [], without: 0 });
});
