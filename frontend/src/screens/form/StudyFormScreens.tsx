import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type ComponentProps } from "react";
import { useNavigate } from "react-router";

import { answer, api, type ApiError, type Method, type Study } from "../../api/client";
import { methods, of, study as studyQuery } from "../../api/queries";
import { useMe } from "../../app/session";
import { ButtonLink } from "../../ui/Button";
import { Callout } from "../../ui/Callout";
import { PageTitle } from "../../ui/Layout";
import { Loaded } from "../../ui/Loading";
import { useStudy } from "../study/StudyLayout";
import { FORM_VERSION, fresh, fromStudy, isForm, toPlan, type Form } from "./form";
import { forget, useKept } from "./kept";
import { StudyForm } from "./StudyForm";

export function NewStudy() {
  const isObserver = useMe().role === "observer";
  const found = useQuery(methods);
  return (
    <>
      <PageTitle>New study</PageTitle>
      {isObserver ? (
        <Callout tone="info" title="Your account may watch studies, not create them." />
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
  const navigate = useNavigate();
  return (
    <SavedForm
      form={form}
      onChange={setForm}
      methods={known}
      submit="Create study"
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
  const found = useQuery(methods);
  if (!study.may_change) return <Callout tone="info" title="You may watch this study, not change it." />;
  if (study.frozen) {
    return (
      <Callout tone="info" title="A cohort has joined, so the plan is frozen.">
        Duplicate the study to change it.
      </Callout>
    );
  }
  return (
    <Loaded query={found}>
      {(known) => {
        const method = known.find((each) => each.name === study.test);
        return method && <Edit study={study} known={known} method={method} />;
      }}
    </Loaded>
  );
}

function Edit({ study, known, method }: { study: Study; known: readonly Method[]; method: Method }) {
  const [form, setForm] = useState(() => fromStudy(study, method));
  const navigate = useNavigate();
  const back = `/studies/${study.id}/plan`;
  return (
    <SavedForm
      form={form}
      onChange={setForm}
      methods={known}
      submit="Save"
      save={(body) => answer(api.PATCH("/api/v1/studies/{study}", { ...of(study.id), body }))}
      onSaved={() => void navigate(back)}
      back={back}
    />
  );
}

interface Saved extends Pick<ComponentProps<typeof StudyForm>, "form" | "onChange" | "methods" | "submit"> {
  save: (body: ReturnType<typeof bodyOf>) => Promise<Study>;
  onSaved: (study: Study) => void;
  /** Where Cancel leads. */
  back: string;
}

/** The form, and what becomes of it. */
function SavedForm({ save, onSaved, back, ...shown }: Saved) {
  const client = useQueryClient();
  const saving = useMutation<Study, ApiError, Method>({
    mutationFn: (method) => save(bodyOf(shown.form, method)),
    onSuccess: (saved) => {
      client.setQueryData(studyQuery(saved.id).queryKey, saved);
      return client.invalidateQueries({ queryKey: ["studies"] });
    },
  });
  return (
    <StudyForm
      {...shown}
      error={saving.error}
      busy={saving.isPending}
      onSubmit={(method) => saving.mutate(method, { onSuccess: onSaved })}
      beside={<ButtonLink to={back}>Cancel</ButtonLink>}
    />
  );
}

const bodyOf = (form: Form, method: Method) => ({
  name: form.name.trim(),
  description: form.description,
  auto_start: form.autoStart,
  plan: toPlan(form, method),
});
