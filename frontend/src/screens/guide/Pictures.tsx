import styles from "./Guide.module.css";
import { Rich } from "../../ui/Rich";
import { t } from "../../words/language";

const WIDTH = 340;
const HEIGHT = 200;
const FLOOR = HEIGHT - 25;
const LEFT = 30;
const PER_DECADE = 16; // pixels of one unit of −log₁₀ P
const GENOME_WIDE = 7.3;
const HIT = { from: 205, steps: [9.4, 8.6, 7.1, 8, 6.2, 5.5, 4.1] };

/** How Manhattan and QQ plot are read. */
export function Pictures() {
  return (
    <>
      <div className={styles.figures}>
        <figure>
          <Manhattan />
          <figcaption>
            <Rich text="<strong>Manhattan plot.</strong> Each dot is a variant: where it lies on the genome, and how small its P value is. The higher, the smaller: 8 means P = 10⁻⁸." />
          </figcaption>
        </figure>
        <figure>
          <Quantiles />
          <figcaption>
            <Rich text="<strong>QQ plot.</strong> The sorted P values against those expected if nothing were associated. A good plot has its dots on the line, and a tail that leaves it at the right end. The red line shows a bad one." />
          </figcaption>
        </figure>
      </div>
      <h3>{t("Manhattan plot")}</h3>
      <ul>
        <li>
          {t(
            "The dashed line is P = 5 × 10⁻⁸, the usual threshold of genome-wide significance: about a million independent tests at 5 %.",
          )}
        </li>
        <li>
          {t(
            "Trust towers more than single dots. Neighbours of a variant that matters are inherited with it, so they rise too. One dot alone is often a variant that was genotyped badly, or a rare one.",
          )}
        </li>
        <li>
          {t(
            "A locus is a region that its strongest variant leads. The variant is a signpost; the cause may be a neighbour.",
          )}
        </li>
      </ul>
      <h3>{t("QQ plot and λ")}</h3>
      <ul>
        <li>{t("Dots that leave the diagonal at the right end only: a few variants are associated.")}</li>
        <li>
          {t(
            "Dots above the diagonal from the left on, like the red line: too many P values are small. Usual causes are ancestry that differs between cases and controls, relatives, or cohorts that were genotyped differently. Principal components as covariates help against the first.",
          )}
        </li>
        <li>{t("Dots below the diagonal: the test has little power, as with rare variants.")}</li>
        <li>
          {t(
            "λ, the genomic inflation, says the same in a number: the median chi-square over its expectation. Near 1 is fine; above about 1.05, look for the cause. In large studies of traits with many small effects it is above 1 without anything being wrong.",
          )}
        </li>
      </ul>
    </>
  );
}

function Manhattan() {
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={t("A Manhattan plot with one tower of dots")}
    >
      <Axes across={t("Position on the genome")} />
      <path className={styles.line} d={`M${LEFT} ${up(GENOME_WIDE)}H${WIDTH - 5}`} />
      {Array.from({ length: 290 }, (_, k) => (
        <circle key={k} className={styles.dot} cx={LEFT + 5 + k} cy={up(chance(k))} r="1.8" />
      ))}
      {HIT.steps.map((height, k) => (
        <circle key={height} className={styles.hit} cx={HIT.from + k} cy={up(height)} r="2.6" />
      ))}
    </svg>
  );
}

function Quantiles() {
  const expected = [0.1, 0.3, 0.6, 1, 1.4, 1.8, 2.2, 2.6, 3, 3.4, 3.8];
  const tail = (x: number) => (x < 3 ? x : x + (x - 2.8) * 4);
  const right = (x: number) => LEFT + 65 * x;
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={t("A QQ plot whose last dots leave the line")}
    >
      <Axes across={t("Expected −log₁₀ P")} />
      <path className={styles.axis} d={`M${right(0)} ${up(0)}L${right(4.2)} ${up(4.2)}`} />
      <path className={styles.drift} d={`M${right(0)} ${up(0)}L${right(4.2)} ${up(6.2)}`} />
      {expected.map((x) => (
        <circle key={x} className={x < 3 ? styles.dot : styles.hit} cx={right(x)} cy={up(tail(x))} r="3" />
      ))}
    </svg>
  );
}

function Axes({ across }: { across: string }) {
  return (
    <>
      <path className={styles.axis} d={`M${LEFT} 5V${FLOOR}H${WIDTH - 5}`} />
      <text className={styles.label} x={LEFT + 4} y="14">
        {"−log₁₀ P"}
      </text>
      <text className={styles.label} x={WIDTH - 8} y={HEIGHT - 8} textAnchor="end">
        {across}
      </text>
    </>
  );
}

/** From −log₁₀ P to the picture's height. */
const up = (value: number): number => FLOOR - PER_DECADE * value;

/** −log₁₀ of a number between 0 and 1 that looks drawn by chance, and is the same each time. */
function chance(k: number): number {
  const drawn = Math.abs(Math.sin(12.9898 * (k + 1)) * 43758.5453) % 1;
  return -Math.log10(Math.max(drawn, 1e-4));
}
