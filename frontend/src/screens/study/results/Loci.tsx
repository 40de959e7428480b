/** The loci as a table, and any variant by its ID or place. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState, type SubmitEvent } from "react";

import type { Schemas } from "../../../api/client";
import { variants, type ResultsOf } from "../../../api/queries";
import { useShortcut } from "../../../app/shortcuts/useShortcut";
import { Button, ButtonLink, DownloadLink } from "../../../ui/Button";
import { Callout } from "../../../ui/Callout";
import { TextField } from "../../../ui/Field";
import { Muted, Row, Section, Unseen } from "../../../ui/Layout";
import { Loaded } from "../../../ui/Loading";
import { span, threshold } from "../../../words/genetics";
import { Across } from "./Across";
import styles from "./Loci.module.css";
import { question } from "./phenotype";
import { BLOCK, neighbour, PAGE, sorted, type Order, type Variant } from "./rows";
import { VariantTable } from "./VariantTable";
import { plural, t } from "../../../words/language";

interface Props {
  study: ResultsOf;
  search: string;
  onSearch: (search: string) => void;
  wanted: Variant | null;
  onLook: (variant: Variant) => void;
}

export function Loci({ study, search, onSearch, wanted, onLook }: Props) {
  const [{ page, of }, setPage] = useState({ page: 0, of: search });
  const now = of === search ? page : 0; // another search begins at its first page
  const block = Math.floor((now * PAGE) / BLOCK) * BLOCK;
  const query = useQuery({
    ...variants(study, search, block, BLOCK),
    placeholderData: keepPreviousData,
  });
  return (
    <Section
      title={t("Loci and variants")}
      beside={
        <Row>
          <ButtonLink to={`/studies/${study.id}/compare${question({ phenotype: study.phenotype })}`}>
            {t("Compare with another study")}
          </ButtonLink>
          <DownloadLink
            href={`/api/v1/studies/${study.id}/loci.csv${question({ phenotype: study.phenotype })}`}
          >
            {t("Loci as CSV")}
          </DownloadLink>
        </Row>
      }
    >
      <Search key={search} search={search} onSearch={onSearch} error={query.error?.message} />
      <Loaded query={query}>
        {(found) => (
          <Found
            found={found}
            search={search}
            page={now}
            onPage={(to) => setPage({ page: to, of: search })}
            wanted={wanted}
            onLook={onLook}
          />
        )}
      </Loaded>
    </Section>
  );
}

function Search({
  search,
  onSearch,
  error,
}: {
  search: string;
  onSearch: Props["onSearch"];
  error: string | undefined;
}) {
  const [text, setText] = useState(search);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    onSearch(text.trim());
  };
  return (
    <form className={styles.search} onSubmit={submit} role="search">
      <TextField
        label={t("Variant, gene or place")}
        hint={t("An ID such as rs429358, a gene such as APOE, or a place such as 19:44,000,000-45,000,000")}
        value={text}
        onChange={setText}
        error={error}
        autoComplete="off"
        spellCheck={false}
      />
      <Button type="submit">{t("Search")}</Button>
      <Button onClick={() => onSearch("")} disabled={!search}>
        {t("All loci")}
      </Button>
    </form>
  );
}

interface FoundProps extends Pick<Props, "search" | "wanted" | "onLook"> {
  found: Schemas["Variants"];
  page: number;
  onPage: (page: number) => void;
}

function Found({ found, search, page, onPage, wanted, onLook }: FoundProps) {
  const [order, setOrder] = useState<Order | null>(null);
  const isWhole = found.found <= BLOCK;
  const first = page * PAGE;
  const all = sorted(found.rows, isWhole ? order : null);
  const rows = all.slice(first - found.start, first - found.start + PAGE);
  const step = (by: 1 | -1) => {
    const next = neighbour(all, wanted, by);
    const row = next === null ? undefined : all[next];
    if (next === null || !row) return;
    onPage(Math.floor((found.start + next) / PAGE));
    onLook(row);
  };
  useShortcut("next", () => step(1));
  useShortcut("previous", () => step(-1));
  if (!found.found) return <Nothing found={found} search={search} />;
  const at = all.findIndex((row) => row.index === wanted?.index);
  const look = rows.find((row) => row.index === wanted?.index) ?? rows[0];
  return (
    <>
      <p role="status">{inWords(found, search)}</p>
      <div role="status">
        <Unseen>
          {wanted &&
            at >= 0 &&
            t("{{name}}, {{place}} of {{all}}", {
              name: wanted.id,
              place: found.start + at + 1,
              all: found.found,
            })}
        </Unseen>
      </div>
      <VariantTable
        rows={rows}
        effect={found.effect}
        confidence={found.confidence}
        order={order}
        onOrder={isWhole ? setOrder : null}
        wanted={wanted}
        onLook={onLook}
      />
      {look && <Across row={look} effect={found.effect} confidence={found.confidence} />}
      {found.found > PAGE && <Pages found={found.found} page={page} onPage={onPage} isSortable={isWhole} />}
    </>
  );
}

function Pages({
  found,
  page,
  onPage,
  isSortable,
}: {
  found: number;
  page: number;
  onPage: (page: number) => void;
  isSortable: boolean;
}) {
  const first = page * PAGE;
  const last = Math.min(first + PAGE, found);
  return (
    <Row>
      <Button disabled={page === 0} onClick={() => onPage(page - 1)}>
        {t("Previous")}
      </Button>
      <Button disabled={last >= found} onClick={() => onPage(page + 1)}>
        {t("Next")}
      </Button>
      <span>{t("{{first}} to {{last}} of {{found}}", { first: first + 1, last, found })}</span>
      {!isSortable && <Muted>{t("More than {{most}} rows keep the server’s order.", { most: BLOCK })}</Muted>}
    </Row>
  );
}

/** What was found, as a sentence. */
function inWords({ found, loci, suggestive, reach }: Schemas["Variants"], search: string): string {
  if (search) {
    return plural(
      found,
      "{{n}} variant found for “{{search}}”. Press Enter or click to zoom in.",
      "{{n}} variants found for “{{search}}”. Press Enter or click to zoom in.",
      { search },
    );
  }
  return plural(
    loci,
    "{{n}} locus with P ≤ {{threshold}}, {{span}} to either side of the lead variant. Press Enter or click to zoom in.",
    "{{n}} loci with P ≤ {{threshold}}, {{span}} to either side of the lead variant. Press Enter or click to zoom in.",
    { threshold: threshold(suggestive), span: span(reach) },
  );
}

/** Nothing found is a result, and said as one. */
function Nothing({ found, search }: { found: Schemas["Variants"]; search: string }) {
  if (search) {
    return (
      <Callout tone="neutral" title={t("No variant found for “{{search}}”.", { search })} isNews>
        {t(
          "The study has no variant with this ID, and no locus whose lead variant has it in its ID. Variants that the cohorts could not agree on, or that were filtered out, have no row; the file whose name ends in variants.tsv lists them.",
        )}
      </Callout>
    );
  }
  return (
    <Callout
      tone="info"
      title={t("No locus: no variant has P ≤ {{threshold}}.", { threshold: threshold(found.suggestive) })}
    >
      {t(
        "That is a result. At this number of people the data show no association as strong as that; every variant can still be found by its ID or place, and all are in the files.",
      )}
    </Callout>
  );
}
