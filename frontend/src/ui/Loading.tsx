import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { Refusal } from "./Callout";
import { Muted } from "./Layout";
import { t } from "../words/language";

/** What a query found; until then that it is on its way, or why it is not. What was found once stays. */
export function Loaded<T>({
  query,
  children,
}: {
  query: UseQueryResult<T>;
  children: (data: T) => ReactNode;
}) {
  if (query.data !== undefined) return children(query.data);
  if (query.error) return <Refusal error={query.error} />;
  return (
    <div aria-busy>
      <Muted>{t("Loading…")}</Muted>
    </div>
  );
}
