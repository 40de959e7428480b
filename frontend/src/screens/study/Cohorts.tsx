import { useState, type SubmitEvent } from "react";

import { answer, api, type Cohort, type Schemas, type Study } from "../../api/client";
import { useChange } from "../../api/changes";
import { isOver, of } from "../../api/queries";
import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Refusal } from "../../ui/Callout";
import { Confirm } from "../../ui/Confirm";
import { TextField } from "../../ui/Field";
import { Card, Muted, Row, Section, Unseen } from "../../ui/Layout";
import { Table, type Column } from "../../ui/Table";
import { Ago } from "../../ui/Time";
import { COHORT } from "../../words/states";
import { InvitationDialog } from "./InvitationDialog";
import { lacksList, UploadList } from "./UploadList";
import { useStudy } from "./StudyLayout";

type Issued = Schemas["IssuedInvitation"];

const BEFORE_START = ["draft", "open", "ready"];

/** Who takes part, how far each cohort is, and the start. */
export function Cohorts() {
  const study = useStudy();
  const [issued, setIssued] = useState<Issued | null>(null);
  const isBefore = BEFORE_START.includes(study.state);
  return (
    <>
      <Roster study={study} onIssued={setIssued} />
      {study.may_change && study.state === "draft" && <UploadList study={study} />}
      {study.may_change && isBefore && !lacksList(study) && <Invite study={study} onIssued={setIssued} />}
      {isBefore && <Start study={study} />}
      {issued && (
        <InvitationDialog
          issued={issued}
          study={study.name}
          ofTables={study.plan.trait === "none"}
          onClose={() => setIssued(null)}
        />
      )}
    </>
  );
}

interface Issuing {
  study: Study;
  onIssued: (issued: Issued) => void;
}

function Roster({ study, onIssued }: Issuing) {
  if (!study.cohorts.length) {
    return <Muted>Nobody is invited yet. This study is for {study.plan.cohorts} cohorts.</Muted>;
  }
  const columns: Column<Cohort>[] = [
    { title: "Cohort", cell: (row) => row.name },
    { title: "State", cell: (row) => <Badge said={COHORT[row.state]} /> },
    { title: "Last heard", cell: (row) => <Ago at={row.heard_at} /> },
    { title: "Fingerprint", cell: (row) => <code>{row.fingerprint || "–"}</code> },
  ];
  if (study.may_change && !isOver(study)) {
    columns.push({
      title: "Invitation",
      cell: (row) => <Invitation cohort={row} study={study} onIssued={onIssued} />,
    });
  }
  return (
    <>
      <Table caption="Cohorts" columns={columns} rows={study.cohorts} rowKey={(row) => row.name} />
      <Muted>Compare the fingerprints with the cohorts by telephone: they show who has joined.</Muted>
    </>
  );
}

function Invitation({ cohort, study, onIssued }: Issuing & { cohort: Cohort }) {
  const address = { params: { path: { study: study.id, cohort: cohort.name } } };
  const reissue = useChange(() =>
    answer(api.POST("/api/v1/studies/{study}/invitations/{cohort}/reissue", address)),
  );
  const revoke = useChange(() =>
    answer(api.POST("/api/v1/studies/{study}/invitations/{cohort}/revoke", address)),
  );
  return (
    <Row>
      <Button
        look="quiet"
        busy={reissue.isPending}
        onClick={() => reissue.mutate(undefined, { onSuccess: onIssued })}
      >
        Reissue<Unseen> the invitation of {cohort.name}</Unseen>
      </Button>
      {cohort.state !== "revoked" && (
        <Confirm
          label="Revoke"
          about={`the invitation of ${cohort.name}`}
          title={`Revoke the invitation of ${cohort.name}?`}
          change={revoke}
        >
          <p>
            Nobody is admitted with it any more.{" "}
            {BEFORE_START.includes(study.state)
              ? "You can invite another cohort in its place, or reissue it."
              : "The study has started with this cohort, so it waits until you reissue the invitation."}
          </p>
        </Confirm>
      )}
      <Refusal error={reissue.error} />
    </Row>
  );
}

function Invite({ study, onIssued }: Issuing) {
  const [cohort, setCohort] = useState("");
  const invite = useChange(() =>
    answer(api.POST("/api/v1/studies/{study}/invitations", { ...of(study.id), body: { cohort } })),
  );
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    invite.mutate(undefined, {
      onSuccess: (issued) => {
        setCohort("");
        onIssued(issued);
      },
    });
  };
  const taking = study.cohorts.filter((each) => each.state !== "revoked").length;
  if (taking >= study.plan.cohorts) return null;
  return (
    <form onSubmit={submit}>
      <Card>
        <Section title="Invite a cohort">
          <Refusal error={invite.error} />
          <TextField
            label="Name"
            hint={`Such as its place. ${taking} of ${study.plan.cohorts} are invited.`}
            value={cohort}
            onChange={setCohort}
            error={invite.error?.fields.name ?? invite.error?.fields.cohort}
            autoComplete="off"
            maxLength={80}
            required
          />
          <div>
            <Button type="submit" look="primary" busy={invite.isPending}>
              Invite
            </Button>
          </div>
        </Section>
      </Card>
    </form>
  );
}

function Start({ study }: { study: Study }) {
  const start = useChange(() => answer(api.POST("/api/v1/studies/{study}/start", of(study.id))));
  return (
    <Card>
      <Section title="Start">
        <Refusal error={start.error} />
        <Row>
          {study.may_change && (
            <Button
              look="primary"
              disabled={study.start_blocked !== ""}
              busy={start.isPending}
              onClick={() => start.mutate()}
              aria-describedby="why-start"
            >
              Start
            </Button>
          )}
          <span id="why-start">{study.start_blocked || "Every cohort is ready."}</span>
        </Row>
        {study.auto_start && <Muted>The study starts by itself once every cohort is ready.</Muted>}
      </Section>
    </Card>
  );
}
