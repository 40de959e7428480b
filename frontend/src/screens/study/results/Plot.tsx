/** A plot with two axes of numbers: as high as it is wide. */
import { decimal } from "../../../words/format";
import { useFrame, useWidth } from "./Figure";
import figure from "./Figure.module.css";
import { MakeFigure } from "./figures";

const MARGIN = { left: 52, right: 16, top: 26, bottom: 44 };

interface Axis {
  title: string;
  limits: readonly [least: number, most: number];
}

type Path = (points: readonly (readonly [x: number, y: number])[]) => string;

interface Props {
  about: string;
  name: string;
  summary: string;
  x: Axis;
  y: Axis;
  caption: string;
  /** Draws with a function that makes a path of points in the values of the axes. */
  draw: (path: Path) => React.ReactNode;
}

export function Plot({ about, name, caption, ...drawn }: Props) {
  const frame = useFrame();
  const width = useWidth(frame, 400);
  return (
    <figure className={figure.figure}>
      <div ref={frame} className={figure.frame}>
        <Drawn {...drawn} width={width} />
      </div>
      <figcaption>{caption}</figcaption>
      <MakeFigure about={about} file={name} draw={(width) => <Drawn {...drawn} width={width} />} />
    </figure>
  );
}

type DrawnProps = Pick<Props, "summary" | "x" | "y" | "draw"> & { width: number };

function Drawn({ summary, x, y, draw, width }: DrawnProps) {
  const side = width - MARGIN.left - MARGIN.right;
  const across = (value: number) => along(x, value) * side;
  const up = (value: number) => (1 - along(y, value)) * side;
  const path: Path = (points) =>
    `M${points.map(([right, high]) => `${across(right).toFixed(1)} ${up(high).toFixed(1)}`).join("L")}`;
  return (
    <svg role="img" aria-label={summary} viewBox={`0 0 ${width} ${side + MARGIN.top + MARGIN.bottom}`}>
      <g transform={`translate(${MARGIN.left} ${MARGIN.top})`}>
        <path
          className={figure.grid}
          d={ticksOf(y)
            .map((tick) => `M0 ${up(tick)}H${side}`)
            .join("")}
        />
        {draw(path)}
        <path className={figure.axis} d={`M0 0V${side}H${side}`} />
        {ticksOf(y).map((tick) => (
          <text key={tick} className={figure.tick} x={-8} y={up(tick)} dy="0.32em" textAnchor="end">
            {decimal(tick)}
          </text>
        ))}
        {ticksOf(x).map((tick) => (
          <text key={tick} className={figure.tick} x={across(tick)} y={side + 18} textAnchor="middle">
            {decimal(tick)}
          </text>
        ))}
        <text className={figure.title} x={-8} y={-11}>
          {y.title}
        </text>
        <text className={figure.title} x={side / 2} y={side + 38} textAnchor="middle">
          {x.title}
        </text>
      </g>
    </svg>
  );
}

const along = ({ limits: [least, most] }: Axis, value: number): number => (value - least) / (most - least);

/** About five round numbers from one to the other. */
function ticksOf({ limits: [least, most] }: Axis): number[] {
  const power = 10 ** Math.floor(Math.log10((most - least) / 5));
  const step = power * ([1, 2, 5, 10].find((factor) => (most - least) / (power * factor) <= 6) ?? 10);
  const first = Math.ceil(least / step - 1e-9);
  const length = Math.floor(most / step + 1e-9) - first + 1;
  return Array.from({ length }, (_, k) => Number(((first + k) * step).toPrecision(12)));
}
