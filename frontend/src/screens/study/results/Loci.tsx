/** The loci as a table, and any variant by its ID or place. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState, type SubmitEvent } from "react";

import type { Schemas, Study } from "../../../api/client";
import { variants } from "../../../api/queries";
import { Button, DownloadLink } from "../../../ui/Button";
import { Callout } from "../../../ui/Callout";
import { TextField } from "../../../ui/Field";
import { Muted, Row, Section } from "../../../ui/Layout";
import { Loaded } from "../../../ui/Loading";
import { count, plural } from "../../../words/format";
import { span, threshold } from "../../../words/genetics";
import styles from "./Loci.module.css";
import { BLOCK, PAGE, sorted, type Order, type Variant } from "./rows";
import { VariantTable } from "./VariantTable";

interface Props {
  study: Study;
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
    ...variants(study.id, search, block, BLOCK),
    placeholderData: keepPreviousData,
  });
  return (
    <Section
      title="Loci and variants"
      beside={<DownloadLink href={`/api/v1/studies/${study.id}/loci.csv`}>Loci as CSV</DownloadLink>}
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
        label="Variant or place"
        hint="An ID such as rs429358, or a place such as 19:44908684 or 19:44,000,000-45,000,000"
        value={text}
        onChange={setText}
        error={error}
        autoComplete="off"
        spellCheck={false}
      />
      <Button type="submit">Search</Button>
      <Button onClick={() => onSearch("")} disabled={!search}>
        All loci
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
  if (!found.found) return <Nothing found={found} search={search} />;
  const isWhole = found.found <= BLOCK;
  const first = page * PAGE;
  const rows = sorted(found.rows, isWhole ? order : null).slice(
    first - found.start,
    first - found.start + PAGE,
  );
  return (
    <>
      <p role="status">{inWords(found, search)}</p>
      <VariantTable
        rows={rows}
        effect={found.effect}
        confidence={found.confidence}
        order={order}
        onOrder={isWhole ? setOrder : null}
        wanted={wanted}
        onLook={onLook}
      />
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
        Previous
      </Button>
      <Button disabled={last >= found} onClick={() => onPage(page + 1)}>
        Next
      </Button>
      <span>
        {count(first + 1)} to {count(last)} of {count(found)}
      </span>
      {!isSortable && <Muted>More than {count(BLOCK)} rows keep the server’s order.</Muted>}
    </Row>
  );
}

/** What was found, as a sentence. */
function inWords({ found, loci, suggestive, reach }: Schemas["Variants"], search: string): string {
  if (search) return `${plural(found, "variant")} found for “${search}”. Press Enter or click to zoom in.`;
  return (
    `${plural(loci, "locus", "loci")} with P ≤ ${threshold(suggestive)}, ${span(reach)} to either side of the lead variant. ` +
    "Press Enter or click to zoom in."
  );
}

/** Nothing found is a result, and said as one. */
function Nothing({ found, search }: { found: Schemas["Variants"]; search: string }) {
  if (search) {
    return (
      <Callout tone="neutral" title={`No variant found for “${search}”.`} isNews>
        The study has no variant with this ID, and no locus whose lead variant has it in its ID. Variants that
        the cohorts could not agree on, or that were filtered out, have no row; study.variants.tsv below lists
        them.
      </Callout>
    );
  }
  return (
    <Callout tone="info" title={`No locus: no variant has P ≤ ${threshold(found.suggestive)}.`}>
      That is a result. At this number of people the data show no association as strong as that; every variant
      can still be found by its ID or place, and all are in the files.
    </Callout>
  );
}
