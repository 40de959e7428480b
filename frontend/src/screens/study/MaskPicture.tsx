/** How masks hide and cancel, with the question that is asked now and the bytes that went so far. */
import { useQuery } from "@tanstack/react-query";

import type { Study } from "../../api/client";
import { progress, traffic } from "../../api/queries";
import { Card, Section } from "../../ui/Layout";
import { bytes, count } from "../../words/format";
import { declaredPair, message, t } from "../../words/language";
import styles from "./MaskPicture.module.css";
import { matrix } from "./matrix";

const COMPENSATOR = "compensator";

const UNMASKED = message("masked sum minus the sum of masks");
const COMPARED = message("nobody reads the sum itself");
const CANCELS = message("the masks of each two cohorts cancel in the sum");

export function MaskPicture({ study }: { study: Study }) {
  const { data: now } = useQuery(progress(study.id));
  const { data: found } = useQuery(traffic(study.id));
  if (!now || !found) return null;
  const { steps } = now;
  const step = steps.find(({ summed, rounds }) => summed < rounds) ?? steps.at(-1);
  const question = step ? declaredPair(step.title, ": ") : t("No question has been asked yet");
  const { rows } = matrix(found.links.map(({ party, phase, to_server: value }) => ({ party, phase, value })));
  const by = new Map(rows.map(({ party, sum }) => [party, sum]));
  const isCompared =
    step !== undefined && (step.turn !== null || found.comparisons.some(({ title }) => title === step.title));
  const hasCompensator = (study.plan.trust ?? COMPENSATOR) === COMPENSATOR;
  const cohorts = study.cohorts.filter(({ state }) => state !== "revoked").map(({ name }) => name);
  const received = cohorts.reduce((sum, name) => sum + (by.get(name) ?? 0), 0);
  return (
    <Card>
      <Section title={t("From masked numbers to a sum")}>
        <div className={styles.picture}>
          <ul className={styles.cohorts}>
            {cohorts.map((name) => (
              <Party key={name} name={name} said={t("{{size}} sent", { size: bytes(by.get(name) ?? 0) })} />
            ))}
          </ul>
          <p className={styles.arrow}>
            <strong>{question}</strong>
            {t("each number with a mask added: by itself it says nothing")}
          </p>
          <ul className={styles.services}>
            <Party name={t("Server")} said={t("{{size}} received", { size: bytes(received) })} />
            {hasCompensator && (
              <>
                <li className={styles.between}>
                  {isCompared ? t("⟷ they compare, in turns") : t("⟵ sum of all masks, once for each round")}
                </li>
                <Party
                  name={t("Compensator")}
                  said={t("{{size}} sent; sees masks, never data", { size: bytes(by.get(COMPENSATOR) ?? 0) })}
                />
              </>
            )}
          </ul>
          <p className={styles.arrow}>
            {hasCompensator ? (isCompared ? COMPARED() : UNMASKED()) : CANCELS()}
          </p>
          <p className={styles.sum}>
            <strong>
              {isCompared ? t("On which side of a bound the sum lies") : t("Sum over all cohorts")}
            </strong>
            {step &&
              t("{{done}} of {{total}} rounds of this question", {
                done: count(step.summed),
                total: count(step.rounds),
              })}
          </p>
        </div>
      </Section>
    </Card>
  );
}

function Party({ name, said }: { name: string; said: string }) {
  return (
    <li className={styles.party}>
      <strong>{name}</strong>
      {said}
    </li>
  );
}
