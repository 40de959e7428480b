/** Two Manhattan plots on one axis: one study up, the other down. */
import { useMemo, useState, type PointerEvent } from "react";

import type { Schemas } from "../../../api/client";
import { Section } from "../../../ui/Layout";
import { fileName } from "../../../words/files";
import { loci, variants } from "../../../words/counted";
import { place, pValue } from "../../../words/genetics";
import { genomeOfBoth } from "./both";
import { TipBox, TipFacts, useFrame, useWidth } from "./Figure";
import figure from "./Figure.module.css";
import { MakeFigure } from "./figures";
import { across, nearest, overviewLayer, type Layer, type Point, type Size } from "./layer";
import type { Genome, Window } from "./genome";
import { chromosomes, Heights, Leads, Limits, Marks, marginsOf, Stripes } from "./ManhattanMarks";
import styles from "./Miami.module.css";
import { t } from "../../../words/language";

type Overview = Schemas["Manhattan"];
type Two<T> = readonly [T, T];

interface Props {
  studies: Two<{ name: string }>;
  overviews: Two<Overview>;
}

const BETWEEN = 34; // pixels for the names of chromosomes

export function Miami({ studies, overviews }: Props) {
  const frame = useFrame();
  const width = useWidth(frame, 1000);
  const names = studies.map(({ name }) => name);
  return (
    <Section
      title={t("Miami plot")}
      beside={
        <MakeFigure
          about={t("Miami plot")}
          file={fileName(...names, "miami")}
          isWide
          draw={(width) => <Plot studies={studies} overviews={overviews} width={width} />}
        />
      }
    >
      <figure className={figure.figure}>
        <div ref={frame}>
          <Plot studies={studies} overviews={overviews} width={width} />
        </div>
        <figcaption>
          {t(
            "{{upper}} points up, {{lower}} down; each has a scale of its own. Diamonds lead a locus; the solid line is the genome-wide threshold, the dashed one the suggestive.",
            { upper: studies[0].name, lower: studies[1].name },
          )}
        </figcaption>
      </figure>
    </Section>
  );
}

function Plot({ studies, overviews, width }: Props & { width: number }) {
  const [pointed, setPointed] = useState<{ point: Point; half: 0 | 1 } | null>(null);
  const genome = useMemo(() => genomeOfBoth(overviews), [overviews]);
  const margins = marginsOf(width);
  const size = useMemo(() => sizeOf(width), [width]);
  const layers: Two<Layer> = useMemo(
    () => [overviewLayer(genome, overviews[0], size), overviewLayer(genome, overviews[1], size, true)],
    [genome, overviews, size],
  );
  const seen = { from: 0, to: genome.length };
  const tops = [margins.top, margins.top + size.height + BETWEEN] as const;
  const full = tops[1] + size.height + margins.top;
  const onPointerMove = (event: PointerEvent<HTMLDivElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left - margins.left, event.clientY - box.top];
    const half = y < tops[1] - BETWEEN / 2 ? 0 : 1;
    const point = nearest(layers[half], seen, size.width, [x, y - tops[half]]);
    setPointed(point && { point, half });
  };
  return (
    <div className={figure.frame} onPointerMove={onPointerMove} onPointerLeave={() => setPointed(null)}>
      <svg
        role="img"
        aria-label={inWords(studies, overviews)}
        viewBox={`0 0 ${margins.left + size.width + margins.right} ${full}`}
      >
        {layers.map((layer, half) => (
          <g key={half} transform={`translate(${margins.left} ${tops[half] ?? 0})`}>
            <Half
              layer={layer}
              genome={genome}
              seen={seen}
              size={size}
              limits={overviews[half]}
              isDown={half > 0}
            />
            <text className={styles.study} x={size.width} y={half ? size.height + 20 : -13} textAnchor="end">
              {studies[half]?.name}
            </text>
          </g>
        ))}
        <g transform={`translate(${margins.left} ${margins.top + size.height})`}>
          <Names genome={genome} seen={seen} width={size.width} />
        </g>
      </svg>
      {pointed && (
        <TipBox
          x={margins.left + across(seen, size.width, pointed.point.at)}
          y={tops[pointed.half] + layers[pointed.half].scale.y(pointed.point.negLog10P)}
          width={width}
        >
          <p>{pointed.point.id || t("(no ID)")}</p>
          <TipFacts
            facts={[
              [t("Study"), studies[pointed.half].name],
              [t("Place"), place(pointed.point.chromosome, pointed.point.position)],
              ["P", pValue(pointed.point.negLog10P)],
            ]}
          />
        </TipBox>
      )}
    </div>
  );
}

interface HalfProps {
  layer: Layer;
  genome: Genome;
  seen: Window;
  size: Size;
  limits: Overview | undefined;
  isDown: boolean;
}

function Half({ layer, genome, seen, size, limits, isDown }: HalfProps) {
  return (
    <>
      <Stripes genome={genome} seen={seen} size={size} />
      <Heights layer={layer} size={size} isDown={isDown} />
      {limits && <Limits layer={layer} size={size} limits={limits} isBehind />}
      <Marks even={layer.even} odd={layer.odd} linked={layer.linked} />
      <Leads layer={layer} seen={seen} size={size} wanted={null} isDown={isDown} />
      {limits && <Limits layer={layer} size={size} limits={limits} />}
    </>
  );
}

function Names({ genome, seen, width }: { genome: Genome; seen: Window; width: number }) {
  return (
    <>
      <path className={figure.axis} d={`M0 0H${width}M0 ${BETWEEN}H${width}`} />
      {chromosomes(genome, seen, width).map(({ x, y, text }) => (
        <text key={text} className={figure.tick} x={x} y={y - 3} textAnchor="middle">
          {text}
        </text>
      ))}
    </>
  );
}

function sizeOf(width: number): Size {
  const { left, right } = marginsOf(width);
  return { width: width - left - right, height: width < 600 ? 190 : 250 };
}

function inWords(studies: Props["studies"], overviews: Props["overviews"]): string {
  const half = (k: 0 | 1) =>
    [studies[k].name, variants(overviews[k].variants), loci(overviews[k].leads.length)].join(", ");
  return t(
    "Miami plot. Up: {{upper}} at or below the suggestive line. Down: {{lower}} at or below the suggestive line. The table of loci has the numbers.",
    { upper: half(0), lower: half(1) },
  );
}
