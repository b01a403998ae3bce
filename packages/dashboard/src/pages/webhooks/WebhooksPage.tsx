import { Button } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import type { Webhook, WebhookWithSecret } from "@tidemill/contract";
import { useState } from "react";
import { useKeysetList } from "../../api/use-keyset-list.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { SecretOnce } from "../../ui/dialogs/SecretOnce.tsx";
import { EmptyState } from "../../ui/EmptyState.tsx";
import { Icon } from "../../ui/Icon.tsx";
import type { Column, NarrowRow } from "../../ui/list/columns.ts";
import { RecordList } from "../../ui/list/RecordList.tsx";
import { PageFrame } from "../../ui/PageFrame.tsx";
import { StateBadge } from "../../ui/StateBadge.tsx";
import { Time } from "../../ui/Time.tsx";
import { stateOf } from "./state.ts";
import { WebhookForm, type WebhookSettings } from "./WebhookForm.tsx";

const COLUMNS: readonly Column<Webhook>[] = [
  { id: "name", header: "Webhook", width: "minmax(7rem, 1fr)", cell: ({ name }) => name },
  { id: "state", header: "State", width: "10rem", cell: (webhook) => <StateBadge {...stateOf(webhook)} /> },
  { id: "url", header: "Address", width: "minmax(9rem, 2fr)", cell: ({ url }) => url, wide: true },
  { id: "events", header: "Events", width: "minmax(8rem, 2fr)", cell: ({ events }) => events.join(", "), wide: true },
  { id: "success", header: "Last success", width: "7rem", align: "end", cell: ({ last_success_at }) => <Time at={last_success_at} /> },
];

const NARROW: NarrowRow = { lines: ["name state", "url url"], widths: "minmax(0, 1fr) auto" };

const nameOf = ({ name }: Webhook): string => name;

/** The webhooks of the workspace. */
export default function WebhooksPage() {
  const { id, api, may } = useWorkspace();
  const navigate = useNavigate();
  const list = useKeysetList<Webhook>({ kind: "webhooks", path: "/webhooks", idOf: nameOf });
  const [creating, setCreating] = useState(false);
  const [created, setCreated] = useState<WebhookWithSecret | null>(null);
  const create = async (settings: Partial<WebhookSettings>) => setCreated(await api.post<WebhookWithSecret>("/webhooks", settings));
  const toCreated = () => {
    const webhook = created?.name ?? "";
    setCreated(null);
    list.reload();
    void navigate({ to: "/w/$workspace/webhooks/$webhook", params: { workspace: id, webhook } });
  };
  const button = may("write") && (
    <Button variant="filled" leftSection={<Icon name="plus" size={14} />} onClick={() => setCreating(true)}>
      New webhook
    </Button>
  );
  return (
    <PageFrame title="Webhooks" actions={button}>
      <RecordList
        label="Webhooks"
        what="the webhooks"
        list={list}
        columns={COLUMNS}
        narrow={NARROW}
        target={({ name }) => ({ to: "webhooks/$webhook", params: { webhook: name } })}
        empty={
          <EmptyState title="No webhook yet">
            A webhook is an address of yours that gets events: a job failed, an approval is requested, the quota is nearly used up.
          </EmptyState>
        }
      />
      <WebhookForm opened={creating} title="New webhook" action="Create" onClose={() => setCreating(false)} onSave={create} />
      <SecretOnce
        secret={created?.secret ?? null}
        title="The secret of the webhook"
        about="Your endpoint needs it to verify events."
        onClose={toCreated}
      />
    </PageFrame>
  );
}
