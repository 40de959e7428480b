import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type ComponentProps, type ReactNode } from "react";
import { useNavigate } from "react-router";

import { answer, api, ApiError, type Method, type Study } from "../../api/client";
import { isOver, isRepeatable, methods as methodsQuery, of, study as studyQuery } from "../../api/queries";
import { useMe } from "../../app/session";
import { ButtonLink } from "../../ui/Button";
import { Callout } from "../../ui/Callout";
import { PageTitle } from "../../ui/Layout";
import { Loaded } from "../../ui/Loading";
import { useStudy } from "../study/StudyLayout";
import { FORM_VERSION, fresh, fromStudy, isForm, samePurpose, toPlan, type Form } from "./form";
import { forget, useKept } from "./kept";
import { StudyForm } from "./StudyForm";
import { useForeseen } from "./Summary";
import { Templates } from "./Templates";
import { changed, type Begun } from "./begin";
import { t } from "../../words/language";

export function NewStudy() {
  const isObserver = useMe().role === "observer";
  const found = useQuery(methodsQuery);
  return (
    <>
      <PageTitle>{t("New study")}</PageTitle>
      {isObserver ? (
        <Callout tone="info" title={t("Your account may watch studies, not create them.")} />
      ) : (
        <Loaded query={found}>{(known) => <Create known={known} />}</Loaded>
      )}
    </>
  );
}

function Create({ known }: { known: readonly Method[] }) {
  const [first] = known;
  if (!first) throw new Error("the platform has no methods");
  const draft = `${useMe().username}-new-study-${FORM_VERSION}`;
  const isSound = (found: unknown): found is Form => isForm(found, known);
  const [form, setForm] = useKept<Form>(draft, () => fresh(first), isSound);
  const [begun, setBegun] = useState<Begun | null>(null);
  const navigate = useNavigate();
  const method = known.find((each) => each.name === form.test) ?? first;
  return (
    <SavedForm
      form={form}
      onChange={setForm}
      methods={known}
      marked={begun ? changed(form, begun) : undefined}
      templates={
        <Templates
          methods={samePurpose(known, method)}
          form={form}
          begun={begun}
          onBegin={(filled, begun) => {
            setForm(filled);
            setBegun(begun);
          }}
        />
      }
      submit={t("Create study")}
      save={(body) => answer(api.POST("/api/v1/studies", { body }))}
      onSaved={(made) => {
        forget(draft);
        void navigate(`/studies/${made.id}/cohorts`);
      }}
      back="/"
    />
  );
}

export function EditStudy() {
  const study = useStudy();
  if (!study.may_change) return <Callout tone="info" title={t("You may watch this study, not change it.")} />;
  if (!study.plan_may_change) {
    return (
      <Callout tone="info" title={t("The plan cannot be changed any more.")}>
        {isOver(study)
          ? t("The study has ended. Use Change and repeat, on the page of its plan.")
          : t("A sum over the cohorts was asked for. Abort the study, then use Change and repeat.")}
      </Callout>
    );
  }
  return <WithMethod study={study}>{(known, method) => <Edit {...{ study, known, method }} />}</WithMethod>;
}

export function RepeatStudy() {
  const study = useStudy();
  if (!study.may_change) return <Callout tone="info" title={t("You may watch this study, not repeat it.")} />;
  if (!isRepeatable(study)) {
    return <Callout tone="info" title={t("This study cannot be repeated, or is repeated already.")} />;
  }
  return <WithMethod study={study}>{(known, method) => <Repeat {...{ study, known, method }} />}</WithMethod>;
}

interface Known {
  study: Study;
  known: readonly Method[];
  /** The study's own. */
  method: Method;
}

function WithMethod({
  study,
  children,
}: {
  study: Study;
  children: (known: readonly Method[], method: Method) => ReactNode;
}) {
  const found = useQuery(methodsQuery);
  return (
    <Loaded query={found}>
      {(known) => {
        const method = known.find((each) => each.name === study.test);
        return method && children(known, method);
      }}
    </Loaded>
  );
}

function Edit({ study, known, method }: Known) {
  const [form, setForm] = useState(() => fromStudy(study, method));
  const navigate = useNavigate();
  const back = `/studies/${study.id}/plan`;
  const isOther = isOtherPlan(fromStudy(study, method), form, known);
  return (
    <SavedForm
      form={form}
      onChange={setForm}
      methods={known}
      submit={t("Save")}
      note={isOther && study.cohorts_joined > 0 && <AcceptedAnew study={study} />}
      refused={useState(() => refusedBefore(study))[0]}
      save={(body) => answer(api.PATCH("/api/v1/studies/{study}", { ...of(study.id), body }))}
      onSaved={(saved) =>
        void navigate(back, { state: { isAcceptedAnew: saved.plan_hash !== study.plan_hash } })
      }
      back={back}
    />
  );
}

function AcceptedAnew({ study }: { study: Study }) {
  const cohorts = study.cohorts.length;
  return (
    <Callout tone="warning" title={t("All cohorts will have to accept the changed plan.")} isNews>
      {t(
        "{{cohorts_accepted}} of {{cohorts}} have accepted the plan as it is. Their clients show what has changed, and ask again. Nothing that was sent so far was summed.",
        { cohorts_accepted: study.cohorts_accepted, cohorts },
      )}
    </Callout>
  );
}

function Repeat({ study, known, method }: Known) {
  const [form, setForm] = useState(() => fromStudy(study, method));
  const navigate = useNavigate();
  const names = study.cohorts.filter(({ state }) => state !== "revoked").map(({ name }) => name);
  return (
    <>
      <Callout tone="info" title={t("A new study, with the same cohorts and the plan as you change it.")}>
        {t(
          "{{names}} are invited by themselves: each client, started again as before, shows what has changed and asks once. The old study stays as it is.",
          { names: names.join(", ") },
        )}
      </Callout>
      <SavedForm
        form={form}
        onChange={setForm}
        methods={known}
        submit={t("Repeat the study")}
        refused={useState(() => refusedBefore(study))[0]}
        save={(body) => answer(api.POST("/api/v1/studies/{study}/repeat", { ...of(study.id), body }))}
        onSaved={(made) => void navigate(`/studies/${made.id}/cohorts`)}
        back={`/studies/${study.id}/plan`}
      />
    </>
  );
}

/** What was refused in the study, beside the field that it is about; null if it is about none. */
function refusedBefore(study: Study): ApiError | null {
  const beside = (field: string, said: string) =>
    new ApiError(0, "refused", said, "", { [`plan.${field}`]: said });
  if (study.refused_field) return beside(study.refused_field, study.reason ?? "");
  const cohort = study.cohorts.find(({ problem_field }) => problem_field);
  return cohort ? beside(cohort.problem_field, `${cohort.name}: ${cohort.problem_message}`) : null;
}

/** Whether saving the form makes the cohorts accept anew: their plan has neither name nor description. */
function isOtherPlan(before: Form, now: Form, known: readonly Method[]): boolean {
  const plan = (form: Form) => {
    const method = known.find((each) => each.name === form.test);
    return method && JSON.stringify(toPlan(form, method));
  };
  return plan(before) !== plan(now);
}

type Shown = "form" | "onChange" | "methods" | "marked" | "templates" | "submit" | "note";

interface Saved extends Pick<ComponentProps<typeof StudyForm>, Shown> {
  save: (body: ReturnType<typeof bodyOf>) => Promise<Study>;
  onSaved: (study: Study) => void;
  /** Where Cancel leads. */
  back: string;
  /** What the plan was refused for before. */
  refused?: ApiError | null;
}

/** The form, and what becomes of it. */
function SavedForm({ save, onSaved, back, refused = null, ...shown }: Saved) {
  const client = useQueryClient();
  const saving = useMutation<Study, ApiError, Method>({
    mutationFn: (method) => save(bodyOf(shown.form, method)),
    onSuccess: (saved) => {
      client.setQueryData(studyQuery(saved.id).queryKey, saved);
      return client.invalidateQueries({ queryKey: ["studies"] });
    },
  });
  const { form, methods } = shown;
  const foreseen = useForeseen(
    form,
    methods.find(({ name }) => name === form.test),
  );
  return (
    <StudyForm
      {...shown}
      onChange={(changed) => {
        // A refusal is about the form as it was sent.
        if (saving.isError) saving.reset();
        shown.onChange(changed);
      }}
      foreseen={foreseen}
      error={saving.error ?? refused}
      busy={saving.isPending}
      onSubmit={(method) => saving.mutate(method, { onSuccess: onSaved })}
      beside={<ButtonLink to={back}>{t("Cancel")}</ButtonLink>}
    />
  );
}

const bodyOf = (form: Form, method: Method) => ({
  name: form.name.trim(),
  description: form.description,
  auto_start: form.autoStart,
  plan: toPlan(form, method),
});
