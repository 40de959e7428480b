/** How a network was trained: its loss by round, and of classes the share that it predicts. */
import { Section } from "../../../ui/Layout";
import { fileName } from "../../../words/files";
import { measured } from "../../../words/genetics";
import { t } from "../../../words/language";
import { Plot } from "./Plot";
import styles from "./Plot.module.css";
import type { Training } from "./model";

type Point = readonly [x: number, y: number];

export function TrainingOf({ training, name }: { training: Training; name: string }) {
  const { loss, heldOut, right, round } = training;
  const most = Math.max(loss[0] ?? 1, heldOut[0] ?? 1) * 1.05;
  const x = { title: t("Rounds"), limits: [0, Math.max(1, loss.length - 1)] as [number, number] };
  // A trial step of L-BFGS may be above all others.
  const points = (values: number[], top: number): Point[] =>
    values.map((value, k) => [k, Math.min(value, top)]);
  const at = { round, loss: measured(heldOut[round] ?? null, 4) };
  return (
    <Section title={t("Training")}>
      <div className={styles.both}>
        <Plot
          about={t("Loss by round")}
          name={fileName(name, "training")}
          summary={t("Loss by round: in the rows left out {{loss}} after round {{round}}.", at)}
          x={x}
          y={{ title: t("Loss"), limits: [0, most] }}
          caption={t("Of the rows that it is fitted to; dashed: of the rows left out.")}
          draw={(path) => (
            <>
              <path className={styles.curve} d={path(points(loss, most))} />
              <path className={styles.expected} d={path(points(heldOut, most))} />
            </>
          )}
        />
        {right && (
          <Plot
            about={t("Share of classes predicted, by round")}
            name={fileName(name, "predicted")}
            summary={t("Share of classes predicted: {{share}} after round {{round}}.", {
              round,
              share: measured(right[round] ?? null, 3),
            })}
            x={x}
            y={{ title: t("Share predicted"), limits: [0, 1] }}
            caption={t("Of the rows left out.")}
            draw={(path) => <path className={styles.curve} d={path(points(right, 1))} />}
          />
        )}
      </div>
    </Section>
  );
}
