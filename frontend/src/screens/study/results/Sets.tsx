/** The results of tests of sets of variants: the sets with the least P. */
import { useQuery } from "@tanstack/react-query";

import type { Study } from "../../../api/client";
import { resultText } from "../../../api/queries";
import { Card, Muted, Section } from "../../../ui/Layout";
import { Loaded } from "../../../ui/Loading";
import { Table, type Column } from "../../../ui/Table";
import { count, sentences } from "../../../words/format";
import { place, pValue } from "../../../words/genetics";
import { plural, t } from "../../../words/language";
import { readSets, TESTS, type TestedSet } from "./sets";

const SHOWN = 20;
const TITLES = {
  ADD: () => t("Burden"),
  "ADD-SKAT": () => "SKAT",
  "ADD-SKATO": () => "SKAT-O",
  "ADD-ACATV": () => "ACAT-V",
};

const columns = (): Column<TestedSet>[] => [
  { title: t("Set"), cell: ({ id }) => id },
  { title: t("Place"), cell: ({ chromosome, position }) => place(chromosome, position), isMinor: true },
  { title: t("Variants"), cell: ({ variants }) => count(variants), isNumber: true },
  ...TESTS.map((test) => ({
    title: TITLES[test](),
    cell: ({ p }: TestedSet) => pValue(p[test]),
    isNumber: true,
  })),
];

export function Sets({ study, file }: { study: Study; file: string }) {
  return (
    <Loaded query={useQuery({ ...resultText(study.id, file), select: readSets })}>
      {({ tested, without }) => (
        <Card>
          <Section title={t("Sets of variants")}>
            <Muted>
              {sentences(
                plural(tested.length, "{{n}} set has a result.", "{{n}} sets have a result."),
                without > 0
                  ? plural(
                      without,
                      "{{n}} has none, and the file says why.",
                      "{{n}} have none, and the file says why.",
                    )
                  : "",
              )}
            </Muted>
            <Table
              caption={t("P values of the sets with the least of SKAT-O")}
              columns={columns()}
              rows={tested.slice(0, SHOWN)}
              rowKey={({ id }) => id}
              isWide
            />
          </Section>
        </Card>
      )}
    </Loaded>
  );
}
