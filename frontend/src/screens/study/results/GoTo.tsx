/** Leads to a gene, a variant or a place by its name. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useDeferredValue, useId, useRef, useState, type SubmitEvent } from "react";

import { places, type ResultsOf } from "../../../api/queries";
import { useShortcut } from "../../../app/shortcuts/useShortcut";
import { Button } from "../../../ui/Button";
import { Unseen } from "../../../ui/Layout";
import { kept, type Genome, type Region } from "./genome";
import styles from "./GoTo.module.css";
import { regionOfPlace } from "./places";
import { t } from "../../../words/language";

interface Props {
  study: ResultsOf;
  genome: Genome;
  onRegion: (region: Region) => void;
}

const LEAST = 2; // letters for which names are proposed

export function GoTo({ study, genome, onRegion }: Props) {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState("");
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  useShortcut("search", () => field.current?.focus());
  const client = useQueryClient();
  const typed = useDeferredValue(text.trim());
  const { data: proposed = [] } = useQuery({
    ...places(study, typed),
    enabled: typed.length >= LEAST && !/\d{3}/.test(typed),
  });

  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const wanted = text.trim();
    if (!wanted) return;
    try {
      const [best] = await client.query(places(study, wanted));
      const region = best && kept(genome, regionOfPlace(best));
      if (region) onRegion(region);
      setProblem(region ? "" : best ? notThere(best) : nothing(wanted));
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <form className={styles.form} onSubmit={submit} role="search" aria-label={t("Part of the genome")}>
      <label>
        <Unseen>{t("Gene, variant or place")}</Unseen>
        <input
          ref={field}
          value={text}
          onChange={(event) => setText(event.target.value)}
          placeholder={t("Gene, rs number or place")}
          list={`${id}-names`}
          aria-invalid={problem !== ""}
          aria-describedby={problem ? `${id}-problem` : undefined}
          autoComplete="off"
          spellCheck={false}
        />
      </label>
      <datalist id={`${id}-names`}>
        {proposed.map(({ name, first }) => (
          <option key={`${name} ${first}`} value={name} />
        ))}
      </datalist>
      <Button type="submit">{t("Go")}</Button>
      <p id={`${id}-problem`} className={styles.problem} role="status">
        {problem}
      </p>
    </form>
  );
}

const nothing = (wanted: string): string =>
  t(
    "Nothing is called “{{wanted}}”. Try a gene such as FTO, an ID, or a place such as 16:53000000-54000000.",
    { wanted },
  );

const notThere = ({ name, chromosome }: { name: string; chromosome: string }): string =>
  t("{{name}} is on chromosome {{chromosome}}, of which the study has no variants.", { name, chromosome });
