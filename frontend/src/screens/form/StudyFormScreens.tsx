import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
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
  const save = useSave((form, method) =>
    answer(api.POST("/api/v1/studies", { body: { ...head(form), plan: toPlan(form, method) } })),
  );
  const submit = (method: Method) =>
    save.mutate(
      { form, method },
      {
        onSuccess: (made) => {
          forget(draft);
          void navigate(`/studies/${made.id}/cohorts`);
        },
      },
    );
  return (
    <StudyForm
      form={form}
      onChange={setForm}
      methods={known}
      error={save.error}
      busy={save.isPending}
      submit="Create study"
      onSubmit={submit}
      beside={<ButtonLink to="/">Cancel</ButtonLink>}
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
  return <Loaded query={found}>{(known) => <Edit study={study} known={known} />}</Loaded>;
}

function Edit({ study, known }: { study: Study; known: readonly Method[] }) {
  const [form, setForm] = useState(() => fromStudy(study));
  const navigate = useNavigate();
  const save = useSave((form, method) =>
    answer(
      api.PATCH("/api/v1/studies/{study}", {
        ...of(study.id),
        body: { ...head(form), plan: toPlan(form, method) },
      }),
    ),
  );
  const submit = (method: Method) =>
    save.mutate({ form, method }, { onSuccess: () => void navigate(`/studies/${study.id}/plan`) });
  return (
    <StudyForm
      form={form}
      onChange={setForm}
      methods={known}
      error={save.error}
      busy={save.isPending}
      submit="Save"
      onSubmit={submit}
      beside={<ButtonLink to={`/studies/${study.id}/plan`}>Cancel</ButtonLink>}
    />
  );
}

const head = (form: Form) => ({
  name: form.name.trim(),
  description: form.description,
  auto_start: form.autoStart,
});

function useSave(act: (form: Form, method: Method) => Promise<Study>) {
  const client = useQueryClient();
  return useMutation<Study, ApiError, { form: Form; method: Method }>({
    mutationFn: ({ form, method }) => act(form, method),
    onSuccess: (saved) => {
      client.setQueryData(studyQuery(saved.id).queryKey, saved);
      return client.invalidateQueries({ queryKey: ["studies"] });
    },
  });
}
