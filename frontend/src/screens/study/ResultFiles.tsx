/** The result files of a study, by what they are for, each with its first lines. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import type { Schemas, Study } from "../../api/client";
import { beginning, results, resultText } from "../../api/queries";
import { Button } from "../../ui/Button";
import { Callout, Refusal } from "../../ui/Callout";
import { Dialog } from "../../ui/Dialog";
import { Muted, Section } from "../../ui/Layout";
import { Loaded } from "../../ui/Loading";
import { Rich } from "../../ui/Rich";
import { Table, type Column } from "../../ui/Table";
import { copied } from "../../words/clipboard";
import { bytes } from "../../words/format";
import { message, t } from "../../words/language";
import styles from "./ResultFiles.module.css";

type File = Schemas["Result"];

export const addressOf = (study: Study, file: string): string =>
  `/api/v1/studies/${study.id}/results/${file}`;

const GROUPS = [
  { title: message("Tables of results"), has: /^(?!.*\.(html|txt|json(\.gz)?)$)/ },
  { title: message("To read"), has: /\.(html|txt)$/ },
  { title: message("For programs"), has: /\.json(\.gz)?$/ },
];

const groupOf = ({ name }: File) => GROUPS.find(({ has }) => has.test(name));

/** Files whose first lines mean nothing to people. */
const OPAQUE = /\.(html|gz|zip|npy|npz|parquet|pt|pdf|png|svg)$/;

export function Files({ study }: { study: Study }) {
  const [shown, setShown] = useState("");
  const columns: Column<File>[] = [
    {
      title: t("File"),
      cell: ({ name }) => (
        <a href={addressOf(study, name)} download>
          <Rich text="<unseen>Download </unseen>{{name}}" values={{ name }} />
        </a>
      ),
    },
    { title: t("Size"), cell: (row) => bytes(row.size), isNumber: true },
    { title: "SHA-256", cell: (row) => <code title={row.sha256}>{row.sha256.slice(0, 16)}…</code> },
    {
      title: t("First lines"),
      cell: ({ name }) =>
        !OPAQUE.test(name) && (
          <Button look="quiet" onClick={() => setShown(name)}>
            <Rich text="Preview<unseen> of {{name}}</unseen>" values={{ name }} />
          </Button>
        ),
    },
  ];
  return (
    <Section title={t("Files")}>
      <Loaded query={useQuery(results(study.id))}>
        {(rows) =>
          rows.length ? (
            <div className={styles.files}>
              <Table
                caption={t("Files")}
                columns={columns}
                rows={GROUPS.flatMap((group) => rows.filter((row) => groupOf(row) === group))}
                rowKey={(row) => row.name}
                groupOf={(row) => groupOf(row)?.title() ?? ""}
                isLong
              />
            </div>
          ) : (
            <Callout tone="warning" title={t("The study is done, and has no files.")} />
          )
        }
      </Loaded>
      {shown && <Preview study={study} file={shown} onClose={() => setShown("")} />}
    </Section>
  );
}

function Preview({ study, file, onClose }: { study: Study; file: string; onClose: () => void }) {
  return (
    <Dialog title={file} onClose={onClose} actions={<Button onClick={onClose}>{t("Close")}</Button>}>
      <Loaded query={useQuery(beginning(study.id, file))}>
        {(text) =>
          text ? (
            // What scrolls must be reachable by keyboard.
            // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
            <pre className={styles.preview} role="region" aria-label={t("First lines")} tabIndex={0}>
              {text}
            </pre>
          ) : (
            <Muted>{t("The file is empty.")}</Muted>
          )
        }
      </Loaded>
    </Dialog>
  );
}

/** The methods section, for a manuscript. */
export function CopyMethods({ study, file }: { study: Study; file: string }) {
  const client = useQueryClient();
  const [isCopied, setCopied] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const copy = async () => {
    try {
      const isDone = await copied(await client.query(resultText(study.id, file)));
      setCopied(isDone);
      setError(
        isDone ? null : new Error(t("The browser did not allow it. Download {{file}} instead.", { file })),
      );
    } catch (problem) {
      setError(problem instanceof Error ? problem : new Error(String(problem)));
    }
  };
  return (
    <>
      <Button onClick={copy}>{isCopied ? t("Methods copied") : t("Copy methods")}</Button>
      <Refusal error={error} />
    </>
  );
}
