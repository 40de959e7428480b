/** Schemas of tables as files: the lines that a cohort's client reads beside its table. */
import type { Schemas } from "../api/client";

type PlanColumn = Schemas["PlanColumn"];

export const SCHEMA_FIELDS = ["name", "type", "unit", "role", "encoding", "values", "low", "high"];

const MOST_NAMED = 100;

/** The lines of a schema that the client can read. Of a category with a long list, only that there is one. */
export function schemaLines(columns: readonly PlanColumn[]): string[] {
  const lines = columns.map(({ name, type, unit, role, encoding, levels = [], most, low, high }) => {
    const isLong = levels.length > MOST_NAMED;
    const values = levels.length ? levels.join("|") : String(most ?? "");
    const words = isLong ? ["", ""] : [encoding, values];
    const line = [name, isLong ? "text" : (type ?? "number"), unit, isLong ? "" : role, ...words, low, high];
    return line.map((cell) => inQuotes(String(cell ?? ""))).join(",");
  });
  return [SCHEMA_FIELDS.join(","), ...lines];
}

const inQuotes = (cell: string): string => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
