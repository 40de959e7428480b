import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { useAccountChange } from "../../api/changes";
import { answer, api, type Schemas } from "../../api/client";
import { channels, deliveries } from "../../api/queries";
import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Refusal } from "../../ui/Callout";
import { Confirm } from "../../ui/Confirm";
import { Muted, Row, Section } from "../../ui/Layout";
import { Loaded } from "../../ui/Loading";
import { SecretDialog } from "../../ui/Secret";
import { Table, type Column } from "../../ui/Table";
import { Ago } from "../../ui/Time";
import { DELIVERY, NOTICE, notice } from "../../words/states";
import { ChannelFields, NewChannel, type Told } from "./ChannelForm";
import { Rich } from "../../ui/Rich";
import { declared, plural, t } from "../../words/language";

type Channel = Schemas["ChannelRow"];
type Issued = Schemas["IssuedChannel"];
type Delivery = Schemas["DeliveryRow"];

/** Where one is told what became of one's studies, and what came of it. */
export function Notifications() {
  const [issued, setIssued] = useState<Issued | null>(null);
  return (
    <>
      <Section title={t("Notifications")}>
        <Muted>
          {t(
            "You are told nothing until you give an address here. A notification has the name of the study, its state and a link, and nothing of data.",
          )}
        </Muted>
        <Loaded query={useQuery(channels)}>
          {(found) => (
            <>
              <Channels rows={found.channels} />
              <NewChannel sendsMail={found.sends_mail} onIssued={setIssued} />
            </>
          )}
        </Loaded>
      </Section>
      <Deliveries />
      {issued?.secret && (
        <SecretDialog
          title={t("The secret of the webhook")}
          label={t("Secret")}
          secret={issued.secret}
          onClose={() => setIssued(null)}
        >
          {t(
            "With it the receiver checks that a notification is from this platform. Keep it as you would a password.",
          )}
        </SecretDialog>
      )}
    </>
  );
}

function Channels({ rows }: { rows: readonly Channel[] }) {
  const columns: Column<Channel>[] = [
    { title: t("Address"), cell: (row) => row.address },
    {
      title: t("Told when"),
      cell: (row) => row.events.map((event) => NOTICE[event]()).join(", "),
      isText: true,
    },
    {
      title: t("Studies"),
      cell: (row) => (row.all_own ? t("All that you coordinate") : t("Those that you chose")),
    },
    {
      title: t("Change"),
      cell: (row) => (
        <Row>
          <Trial channel={row} />
          <Change channel={row} />
          <Remove channel={row} />
        </Row>
      ),
    },
  ];
  if (!rows.length) return <Muted>{t("No address yet.")}</Muted>;
  return <Table caption={t("Addresses")} columns={columns} rows={rows} rowKey={(row) => String(row.id)} />;
}

const at = (channel: Channel) => ({ params: { path: { channel: String(channel.id) } } });

function Trial({ channel }: { channel: Channel }) {
  const send = useAccountChange(() =>
    answer(api.POST("/api/v1/account/channels/{channel}/trial", at(channel))),
  );
  return (
    <>
      <Button look="quiet" busy={send.isPending} onClick={() => send.mutate()}>
        <Rich text="Send a test<unseen> to {{address}}</unseen>" values={{ address: channel.address }} />
      </Button>
      <Refusal error={send.error} />
    </>
  );
}

function Change({ channel }: { channel: Channel }) {
  const [told, setTold] = useState<Told>({ events: channel.events, all_own: channel.all_own ?? false });
  const body = { events: [...told.events], all_own: told.all_own };
  const change = useAccountChange(() =>
    answer(api.PATCH("/api/v1/account/channels/{channel}", { ...at(channel), body })),
  );
  return (
    <Confirm
      label={t("Change")}
      about={channel.address}
      look="quiet"
      title={t("What {{address}} is told", { address: channel.address })}
      change={change}
    >
      <ChannelFields told={told} onChange={setTold} error={change.error?.fields.events} />
    </Confirm>
  );
}

function Remove({ channel }: { channel: Channel }) {
  const remove = useAccountChange(() =>
    answer(api.DELETE("/api/v1/account/channels/{channel}", at(channel))),
  );
  return (
    <Confirm
      label={t("Remove")}
      about={channel.address}
      title={t("Remove {{address}}?", { address: channel.address })}
      change={remove}
    >
      <p>{t("Nothing is sent there any more, and its deliveries leave the list.")}</p>
    </Confirm>
  );
}

const columns = (): Column<Delivery>[] => [
  { title: t("What"), cell: (row) => notice(row.event, row.study_name) },
  { title: t("To"), cell: (row) => row.address },
  { title: t("When"), cell: (row) => <Ago at={row.time} /> },
  { title: t("Outcome"), cell: (row) => <Badge said={DELIVERY[row.outcome]} /> },
  {
    title: t("Attempts"),
    cell: (row) =>
      [plural(row.tries, "{{n}} attempt", "{{n}} attempts"), declared(row.said)].filter(Boolean).join(": "),
    isText: true,
  },
];

function Deliveries() {
  return (
    <Section title={t("Last deliveries")}>
      <Loaded query={useQuery(deliveries)}>
        {(rows) =>
          rows.length ? (
            <Table
              caption={t("Last deliveries, newest first")}
              columns={columns()}
              rows={rows}
              rowKey={(row) => row.id}
            />
          ) : (
            <Muted>{t("Nothing has been sent yet.")}</Muted>
          )
        }
      </Loaded>
    </Section>
  );
}
