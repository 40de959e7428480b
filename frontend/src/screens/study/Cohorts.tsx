import { useRef, useState } from "react";
import { useNavigate } from "react-router";

import { answer, api, type Cohort, type Study } from "../../api/client";
import { useChange } from "../../api/changes";
import { isOver, isRepeatableWithout, of } from "../../api/queries";
import { Button } from "../../ui/Button";
import { Callout, Refusal } from "../../ui/Callout";
import { Confirm } from "../../ui/Confirm";
import { TextArea } from "../../ui/Field";
import { FormCard } from "../../ui/FormCard";
import { Fingerprint } from "../../ui/Fingerprint";
import { Card, Facts, Muted, Row, Section } from "../../ui/Layout";
import { Table, type Column } from "../../ui/Table";
import { Ago, useNow } from "../../ui/Time";
import { Compared } from "./Compared";
import { whomFor } from "./doing";
import { CohortProblem, troubledIn } from "./FailureCard";
import { InvitationDialog, type Issued } from "./InvitationDialog";
import { lacksList, UploadList } from "./UploadList";
import { StagePill } from "./StagePill";
import { useStudy } from "./StudyLayout";
import { invitedIn, type Invited } from "../../words/invitation";
import { declared, t } from "../../words/language";

const BEFORE_START = ["draft", "open", "ready"];

/** Who takes part, how far each cohort is, and the start. */
export function Cohorts() {
  const study = useStudy();
  // Each is shown once: one after the other.
  const [issued, setIssued] = useState<Issued[]>([]);
  const show = (more: Issued) => setIssued((shown) => [...shown, more]);
  const isBefore = BEFORE_START.includes(study.state);
  return (
    <>
      <Roster study={study} onIssued={show} />
      {study.cohorts.length > 0 && <ByTelephone study={study} />}
      {study.may_change && study.state === "draft" && <UploadList study={study} />}
      {study.may_change && isBefore && !lacksList(study) && <Invite study={study} onIssued={show} />}
      {isBefore && <Start study={study} />}
      {issued[0] && (
        <InvitationDialog
          key={issued[0].cohort}
          issued={issued[0]}
          study={study}
          onClose={() => setIssued((shown) => shown.slice(1))} // another one may come meanwhile
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
  const now = useNow();
  if (!study.cohorts.length) {
    return (
      <Muted>
        {t("Nobody is invited yet. This study is for {{cohorts}} cohorts.", { cohorts: study.plan.cohorts })}
      </Muted>
    );
  }
  const troubled = troubledIn(study);
  const problems: Column<Cohort> = {
    title: t("Details"),
    cell: (row) => (troubled.includes(row) ? <CohortProblem cohort={row} /> : "–"),
    isText: true,
  };
  const columns: Column<Cohort>[] = [
    { title: t("Cohort"), cell: (row) => row.name },
    { title: t("State"), cell: (row) => <StagePill of={row} /> },
    ...(troubled.length ? [problems] : []),
    { title: t("Last heard"), cell: (row) => <Ago at={row.heard_at} /> },
    { title: t("Fingerprint of its key"), cell: (row) => <KeyOf cohort={row} study={study} /> },
  ];
  if (study.may_change && !isOver(study)) {
    columns.push({
      title: t("Invitation"),
      cell: (row) => <Invitation cohort={row} study={study} onIssued={onIssued} />,
    });
  }
  if (isRepeatableWithout(study)) {
    columns.push({
      title: t("Has left for good"),
      cell: (row) => <RepeatWithout cohort={row} study={study} />,
    });
  }
  return (
    <Section
      title={
        study.waits.length ? t("Waiting for {{whom}}", { whom: whomFor(study.waits, now) }) : t("Cohorts")
      }
    >
      <Table caption={t("Cohorts")} columns={columns} rows={study.cohorts} rowKey={(row) => row.name} />
    </Section>
  );
}

/** A cohort's fingerprint, and whether somebody has compared it. */
function KeyOf({ cohort, study }: { cohort: Cohort; study: Study }) {
  const { name, fingerprint } = cohort;
  if (!fingerprint) return "–";
  return (
    <>
      <Fingerprint name={t("the fingerprint of the key of {{name}}", { name })}>{fingerprint}</Fingerprint>
      <Compared
        of={name}
        by={study.names[cohort.compared_by] ?? cohort.compared_by}
        at={cohort.compared_at}
        mayChange={study.may_change}
        note={(is_same) =>
          answer(
            api.PUT("/api/v1/studies/{study}/cohorts/{cohort}/compared", {
              params: { path: { study: study.id, cohort: name } },
              body: { fingerprint, is_same },
            }),
          )
        }
      />
    </>
  );
}

/** What every cohort's program shows too. */
function ByTelephone({ study }: { study: Study }) {
  const fingerprint = study.compensator_fingerprint;
  return (
    <Card>
      <Section title={t("Compare by telephone")}>
        <Muted>
          {t(
            "Every cohort's program shows the same: its key shows who has joined, the plan what is computed, the list of cohorts with whom.",
          )}
        </Muted>
        <Facts
          wide
          facts={[
            [
              t("Plan"),
              <Fingerprint key="plan" name={t("the fingerprint of the plan")}>
                {study.plan_fingerprint}
              </Fingerprint>,
            ],
            [t("List of cohorts"), <RosterHash key="roster" study={study} />],
            ...(fingerprint
              ? [
                  [
                    t("Compensator's key"),
                    <div key="key">
                      <Fingerprint name={t("the fingerprint of the key of the compensator")}>
                        {fingerprint}
                      </Fingerprint>
                      <Compared
                        of={t("the compensator's operator")}
                        by={study.names[study.compared_by] ?? study.compared_by}
                        at={study.compared_at}
                        mayChange={study.may_change}
                        note={(is_same) =>
                          answer(
                            api.PUT("/api/v1/studies/{study}/compensator/compared", {
                              ...of(study.id),
                              body: { fingerprint, is_same },
                            }),
                          )
                        }
                      />
                    </div>,
                  ] as const,
                ]
              : []),
          ]}
        />
      </Section>
    </Card>
  );
}

function RosterHash({ study }: { study: Study }) {
  if (!study.roster_fingerprint) return t("Known once all cohorts have joined");
  return (
    <Fingerprint name={t("the fingerprint of the list of cohorts")}>{study.roster_fingerprint}</Fingerprint>
  );
}

function Invitation({ cohort, study, onIssued }: Issuing & { cohort: Cohort }) {
  const address = { params: { path: { study: study.id, cohort: cohort.name } } };
  const reissue = useChange(() =>
    answer(api.POST("/api/v1/studies/{study}/invitations/{cohort}/reissue", address)),
  );
  const fresh = useRef<Issued>(null);
  const revoke = useChange(() =>
    answer(api.POST("/api/v1/studies/{study}/invitations/{cohort}/revoke", address)),
  );
  return (
    <Row>
      <Confirm
        label={t("Reissue")}
        about={t("the invitation of {{name}}", { name: cohort.name })}
        look="quiet"
        title={t("Reissue the invitation of {{name}}?", { name: cohort.name })}
        change={{
          ...reissue,
          mutateAsync: async () => {
            fresh.current = await reissue.mutateAsync();
          },
        }}
        onDone={() => fresh.current && onIssued(fresh.current)}
      >
        <p>
          {t("The invitation that {{name}} has now will no longer admit anybody.", { name: cohort.name })}
        </p>
        <p>{afterReissue(cohort)}</p>
      </Confirm>
      {cohort.state !== "revoked" && (
        <Confirm
          label={t("Revoke")}
          about={t("the invitation of {{name}}", { name: cohort.name })}
          title={t("Revoke the invitation of {{name}}?", { name: cohort.name })}
          change={revoke}
        >
          <p>
            {BEFORE_START.includes(study.state)
              ? t("It no longer admits anybody. You can invite another cohort in its place, or reissue it.")
              : t(
                  "It no longer admits anybody. The study has started with this cohort, so it waits until you reissue the invitation.",
                )}
          </p>
        </Confirm>
      )}
    </Row>
  );
}

/** One button from a study that cannot go on with a cohort to the same one without it. */
function RepeatWithout({ cohort: { name }, study }: { cohort: Cohort; study: Study }) {
  const navigate = useNavigate();
  const made = useRef<Study>(null);
  const repeat = useChange(() =>
    answer(
      api.POST("/api/v1/studies/{study}/repeat-without", { ...of(study.id), body: { cohorts: [name] } }),
    ),
  );
  return (
    <Confirm
      label={t("Repeat without it")}
      about={name}
      title={t("Repeat “{{study}}” without {{name}}?", { study: study.name, name })}
      change={{
        ...repeat,
        mutateAsync: async () => {
          made.current = await repeat.mutateAsync();
        },
      }}
      onDone={() => made.current && void navigate(`/studies/${made.current.id}/cohorts`)}
    >
      <p>
        {t(
          "{{name}} is no longer admitted, and this study ends, if it has not ended. A new one by the same plan has all other cohorts: each client, started again as before, shows what has changed and asks.",
          { name },
        )}
      </p>
      <Callout tone="warning" title={t("The difference of the two is {{name}} alone.", { name })}>
        {study.state === "done"
          ? t(
              "Whoever has the results of both studies can subtract one from the other, and has the sums of {{name}} alone. No mask hides that. Repeat it only if {{name}} agrees.",
              { name },
            )
          : t(
              "Whoever runs the server can subtract what this study has summed so far from what the new one sums, and has the sums of {{name}} alone. No mask hides that. Repeat it only if {{name}} agrees, or if nothing was summed.",
              { name },
            )}
      </Callout>
    </Confirm>
  );
}

/** What a new invitation means for a cohort. */
function afterReissue({ name, fingerprint }: Cohort): string {
  if (!fingerprint)
    return t("{{name}} has not joined yet: hand over the new one in place of the old one.", { name });
  return t(
    "{{name}} has joined already. Its program is turned away until its data manager starts it with the new invitation; then it continues where it was, and what it has sent stays.",
    { name },
  );
}

function Invite({ study, onIssued }: Issuing) {
  const [text, setText] = useState("");
  const invite = useChange(async () => {
    // What was refused, and what comes after it, stays in the field.
    for (let left = invitedIn(text); left.length; left = left.slice(1)) {
      const [{ cohort, address }] = left as [Invited, ...Invited[]];
      setText(left.map(lineOf).join("\n"));
      const issued = await answer(
        api.POST("/api/v1/studies/{study}/invitations", { ...of(study.id), body: { cohort } }),
      );
      onIssued({ ...issued, address });
    }
    setText("");
  });
  const taking = study.cohorts.filter((each) => each.state !== "revoked").length;
  if (taking >= study.plan.cohorts) return null;
  return (
    <FormCard
      title={t("Invite cohorts")}
      change={invite}
      label={t("Invite")}
      onSubmit={() => invite.mutate()}
    >
      <TextArea
        label={t("Names")}
        hint={t(
          "One per line, such as places; after a comma, if you like, a mail address. {{taking}} of {{cohorts}} are invited.",
          { taking, cohorts: study.plan.cohorts },
        )}
        value={text}
        onChange={setText}
        error={invite.error?.fields.name ?? invite.error?.fields.cohort}
        required
      />
    </FormCard>
  );
}

const lineOf = ({ cohort, address }: Invited): string => (address ? `${cohort}, ${address}` : cohort);

function Start({ study }: { study: Study }) {
  const start = useChange(() => answer(api.POST("/api/v1/studies/{study}/start", of(study.id))));
  return (
    <Card>
      <Section title={t("Start")}>
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
              {t("Start")}
            </Button>
          )}
          <span id="why-start">{declared(study.start_blocked) || t("Every cohort is ready.")}</span>
        </Row>
        {study.auto_start && <Muted>{t("The study starts by itself once every cohort is ready.")}</Muted>}
      </Section>
    </Card>
  );
}
