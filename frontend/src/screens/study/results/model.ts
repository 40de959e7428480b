/** A model file, read for the screen. */

export interface ModelFile {
  outcome: string;
  people: number;
  penalty: number;
  /** Mean squared, of the folds that were left out. */
  error: number;
  /** The share of the variance that the model explains there; null where there is none. */
  explained: number | null;
  /** What each score is of: a class, or nothing where there is only one. */
  scores: string[];
  /** The largest per standard deviation first. */
  features: Coefficients[];
}

export interface Coefficients {
  name: string;
  deviation: number;
  coefficients: number[];
}

/** The model in a file; an Error if it is none. */
export function readModel(text: string): ModelFile {
  const { outcome, features, variance, ...model } = JSON.parse(text) as {
    outcome: { name: string; classes?: string[] };
    features: Coefficients[];
    people: number;
    penalty: number;
    error: number;
    variance: number;
  };
  const { classes = [] } = outcome;
  return {
    ...model,
    outcome: outcome.name,
    explained: variance > 0 ? 1 - model.error / variance : null,
    scores: classes.length > 2 ? classes : [""],
    features: features.toSorted((a, b) => size(b) - size(a)),
  };
}

const size = ({ deviation, coefficients }: Coefficients): number =>
  deviation * Math.max(...coefficients.map(Math.abs));
