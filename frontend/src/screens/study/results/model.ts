/** A model file, read for the screen. */

export interface ModelFile {
  outcome: string;
  people: number;
  /** In one, nothing is left out. */
  folds: number;
  /** Null of a network. */
  penalty: number | null;
  /** Of a network only. */
  training: Training | null;
  /** What a network promises each person; nothing else is then known of it. */
  privacy: Privacy | null;
  /** What the error is. */
  loss: "mean squared error" | "log loss";
  /** The mean, of the folds that were left out; of one fold that of the fit. */
  error: number;
  /** The share of the variance, or of the deviance, that the model explains there; null where there is none. */
  explained: number | null;
  /** What each score is of: a class, or nothing where there is only one. */
  scores: string[];
  /** The largest per standard deviation first. */
  features: Coefficients[];
  performance: Performance | null;
}

/** How a network was trained. */
export interface Training {
  weights: number;
  /** The round of which the weights are the model. */
  round: number;
  /** The mean loss of the rows that it is fitted to, by round, from the start values on. */
  loss: number[];
  heldOut: number[];
  /** The share of the left-out rows whose class is predicted; null of a number. */
  right: number[] | null;
}

/** Differential privacy: how many times as likely a result may be with one person more. */
export interface Privacy {
  epsilon: number;
  delta: number;
  /** The deviation of a sum's noise, in the longest gradient of a person. */
  noise: number;
  clip: number;
  rounds: number;
}

/** How well models of the same penalty do on the folds that they have not seen. */
export interface Performance {
  /** The mean of (p − y)²; null where a model gives no probabilities. */
  brier: number | null;
  scores: Score[];
}

export interface Score {
  /** The class that the score is of; empty of a number. */
  of: string;
  /** Of each range of the score, the lowest first. */
  rows: number[];
  /** How many of them are of the class; of a number the sum of the outcome. */
  observed: number[];
  auc?: number | null;
  auc_low?: number | null;
  auc_high?: number | null;
  /** Some ten groups by the score: shares of the class, or means of the outcome. */
  calibration: Group[];
}

export interface Group {
  rows: number;
  expected: number;
  observed: number;
  low: number | null;
  high: number | null;
}

export interface Coefficients {
  name: string;
  deviation: number;
  /** Missing of a network. */
  coefficients?: number[];
  /** How it was scaled, if not to deviation 1. */
  scaling?: { method: string; lambda?: number };
}

/** The scaling of a feature in words: its name, and its lambda if there is one. */
export const scalingOf = (scaling: Coefficients["scaling"]): string =>
  [scaling?.method, scaling?.lambda === undefined ? "" : `(λ ${scaling.lambda.toPrecision(4)})`]
    .filter(Boolean)
    .join(" ");

/** The model in a file; an Error if it is none. */
export function readModel(text: string): ModelFile {
  const {
    outcome,
    features,
    variance,
    performance = null,
    folds = 2, // of files that do not say
    penalty = null,
    network,
    curve,
    round = 0,
    privacy = null,
    ...model
  } = JSON.parse(text) as {
    outcome: { name: string; classes?: string[] };
    features: Coefficients[];
    people: number;
    folds?: number;
    penalty?: number;
    network?: { layers: { weight: number[][]; bias: number[] }[] } | { name: string; weights: number };
    curve?: { loss: number[]; held_out: number[]; right?: number[] };
    round?: number;
    privacy?: Privacy;
    loss: ModelFile["loss"];
    error: number;
    variance: number;
    performance?: Performance;
  };
  const { classes = [] } = outcome;
  return {
    ...model,
    folds,
    penalty,
    privacy,
    training:
      network && curve
        ? {
            weights:
              "weights" in network
                ? network.weights
                : sum(
                    network.layers.map(
                      ({ weight, bias }) => sum(weight.map((row) => row.length)) + bias.length,
                    ),
                  ),
            round,
            loss: curve.loss,
            heldOut: curve.held_out,
            right: curve.right ?? null,
          }
        : null,
    outcome: outcome.name,
    explained: variance > 0 ? 1 - model.error / variance : null,
    scores: classes.length > 2 ? classes : [""],
    features: features.toSorted((a, b) => size(b) - size(a)),
    performance,
  };
}

type Point = readonly [x: number, y: number];

/** (1 − specificity, sensitivity) at the ends of ranges, the highest scores first; from (0, 0). */
export function rocPoints({ rows, observed }: Pick<Score, "rows" | "observed">): Point[] {
  const cases = sum(observed);
  const others = sum(rows) - cases;
  const found: Point[] = [[0, 0]];
  let [ofOthers, ofCases] = [0, 0];
  for (let k = rows.length - 1; k >= 0; k--) {
    ofCases += observed[k] ?? 0;
    ofOthers += (rows[k] ?? 0) - (observed[k] ?? 0);
    found.push([ofOthers / others, ofCases / cases]);
  }
  return found;
}

/** Around the curve: all cases of each range first, and back with all others first. */
export function rocBand(points: readonly Point[]): Point[] {
  const high = points.slice(1).flatMap(([x, y], k): Point[] => [
    [points[k]?.[0] ?? 0, y],
    [x, y],
  ]);
  const low = points.slice(1).flatMap(([x, y], k): Point[] => [
    [x, points[k]?.[1] ?? 0],
    [x, y],
  ]);
  return [[0, 0], ...high, ...low.toReversed()];
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

const size = ({ deviation, coefficients = [0] }: Coefficients): number =>
  deviation * Math.max(...coefficients.map(Math.abs));
