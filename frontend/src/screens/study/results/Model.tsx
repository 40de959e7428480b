/** The results of a study that fitted a model: how good it is, and its coefficients. */
import { useQuery } from "@tanstack/react-query";

import type { Study } from "../../../api/client";
import { resultText } from "../../../api/queries";
import { Card, Facts, Muted, Section } from "../../../ui/Layout";
import { Loaded } from "../../../ui/Loading";
import { Table, type Column } from "../../../ui/Table";
import { count } from "../../../words/format";
import { measured } from "../../../words/genetics";
import { t } from "../../../words/language";
import { PerformanceOf } from "./Performance";
import { TrainingOf } from "./Training";
import {
  readModel,
  scalingOf,
  type Coefficients,
  type ModelFile,
  type Privacy,
  type Training,
} from "./model";

const SHOWN = 50;

export function Model({ study, file }: { study: Study; file: string }) {
  return (
    <Loaded query={useQuery({ ...resultText(study.id, file), select: readModel })}>
      {(model) => (
        <Card>
          <Section title={t("Model of {{outcome}}", { outcome: model.outcome })}>
            <Facts facts={numbers(model)} />
            {!model.training && !model.privacy && <Features model={model} />}
            {model.privacy && (
              <Muted>
                {t(
                  "How well it predicts was not counted: that would tell more of people than epsilon allows.",
                )}
              </Muted>
            )}
          </Section>
          {model.training && <TrainingOf training={model.training} name={study.name} />}
          {model.performance && (
            <PerformanceOf
              performance={model.performance}
              name={study.name}
              isNetwork={model.training !== null}
            />
          )}
        </Card>
      )}
    </Loaded>
  );
}

const numbers = (model: ModelFile): [string, string][] => [
  [t("People"), count(model.people)],
  ...(model.features.length ? ([[t("Features"), count(model.features.length)]] as [string, string][]) : []),
  ...(model.privacy ? ofPrivacy(model.privacy) : ofTest(model)),
];

const ofPrivacy = ({ epsilon, delta, noise, clip, rounds }: Privacy): [string, string][] => [
  [t("Rounds"), count(rounds)],
  [t("Epsilon"), measured(epsilon, 4)],
  [t("Delta"), measured(delta, 2)],
  [t("Longest gradient of a person"), measured(clip, 4)],
  [t("Noise of a sum, in such gradients"), measured(noise, 4)],
];

const ofTest = (model: ModelFile): [string, string][] => [
  [t("Folds"), count(model.folds)],
  ...(model.training
    ? ofTraining(model.training)
    : ([[t("Penalty"), measured(model.penalty, 6)]] as [string, string][])),
  ...(model.loss === "log loss" ? ofLikelihood(model) : ofSquares(model)),
];

const ofTraining = ({ weights, loss, round }: Training): [string, string][] => [
  [t("Weights"), count(weights)],
  [
    t("Rounds"),
    t("{{n}}; the weights after {{round}} are the model", {
      n: count(loss.length - 1),
      round: count(round),
    }),
  ],
];

const ofSquares = (model: ModelFile): [string, string][] => [
  [
    model.folds > 1
      ? t("Mean squared error of the folds left out")
      : t("Mean squared error of the rows it was fitted to"),
    measured(model.error, 6),
  ],
  [t("Share of the variance explained there"), measured(model.explained, 4)],
];

const ofLikelihood = (model: ModelFile): [string, string][] => [
  [t("Log loss of the folds left out"), measured(model.error, 6)],
  [t("Share of the deviance explained there"), measured(model.explained, 4)],
];

function Features({ model: { features, scores } }: { model: ModelFile }) {
  const shown = features.slice(0, SHOWN);
  const columns: Column<Coefficients>[] = [
    { title: t("Feature"), cell: (row) => row.name },
    ...scores.map((name, k) => ({
      title: name ? t("Coefficient of {{name}}", { name }) : t("Coefficient"),
      cell: (row: Coefficients) => measured(row.coefficients?.[k] ?? null, 6),
      isNumber: true,
    })),
    ...(shown.some(({ scaling }) => scaling)
      ? [{ title: t("Scaling"), cell: ({ scaling }: Coefficients) => scalingOf(scaling) }]
      : []),
  ];
  return (
    <>
      <Table
        caption={t("Coefficients, the largest per standard deviation of the feature first")}
        columns={columns}
        rows={shown}
        rowKey={(row) => row.name}
      />
      {features.length > shown.length && (
        <Muted>{t("The largest are shown; the file has all {{n}}.", { n: count(features.length) })}</Muted>
      )}
    </>
  );
}
