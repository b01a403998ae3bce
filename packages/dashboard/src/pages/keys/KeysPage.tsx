import { Button } from "@mantine/core";
import type { CreatedKey, Key } from "@tidemill/contract";
import { useMemo, useState } from "react";
import { useKeysetList } from "../../api/use-keyset-list.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { toMs, useNow } from "../../time/clock.ts";
import { ConfirmDialog } from "../../ui/dialogs/ConfirmDialog.tsx";
import { SecretOnce } from "../../ui/dialogs/SecretOnce.tsx";
import { EmptyState } from "../../ui/EmptyState.tsx";
import { Icon } from "../../ui/Icon.tsx";
import type { Column } from "../../ui/list/columns.ts";
import { RecordList } from "../../ui/list/RecordList.tsx";
import { notify } from "../../ui/notices.ts";
import { PageFrame } from "../../ui/PageFrame.tsx";
import { StateBadge } from "../../ui/StateBadge.tsx";
import { Time } from "../../ui/Time.tsx";
import { KeyForm } from "./KeyForm.tsx";

const idOf = ({ id }: Key): string => id;

/** What a key of role `worker` is limited to. */
function boundTo({ role, queues, workflows }: Key): string {
  if (role !== "worker") return "";
  const names = [...(queues ?? []), ...(workflows ?? [])];
  return names.length > 0 ? names.join(", ") : "all";
}

/** The keys of the workspace. */
export default function KeysPage() {
  const { api } = useWorkspace();
  const list = useKeysetList<Key>({ kind: "keys", path: "/keys", idOf });
  const [creating, setCreating] = useState(false);
  const [created, setCreated] = useState<CreatedKey | null>(null);
  const [revoking, setRevoking] = useState<Key | null>(null);
  const columns = useMemo(() => columnsWith(setRevoking), []);
  const revoke = async () => {
    await api.delete(`/keys/${revoking?.id}`);
    notify({ tone: "done", text: "The key is revoked. Requests with it are refused." });
    list.reload();
  };
  return (
    <PageFrame
      title="API keys"
      actions={
        <Button variant="filled" leftSection={<Icon name="plus" size={14} />} onClick={() => setCreating(true)}>
          New key
        </Button>
      }
    >
      <RecordList
        label="API keys"
        what="the keys"
        list={list}
        columns={columns}
        empty={<EmptyState title="No key yet">Programs send a key with each request to the API. Create one for each program.</EmptyState>}
      />
      <KeyForm
        opened={creating}
        onClose={() => setCreating(false)}
        onCreate={async (request) => {
          setCreated(await api.post<CreatedKey>("/keys", request));
          list.reload();
        }}
      />
      <SecretOnce
        secret={created?.key ?? null}
        title={`The key ${created?.name ?? ""}`}
        about="A program sends it as Authorization: Bearer."
        onClose={() => setCreated(null)}
      />
      <ConfirmDialog
        opened={revoking !== null}
        onClose={() => setRevoking(null)}
        title={`Revoke ${revoking?.name ?? ""}?`}
        action="Revoke"
        danger
        onConfirm={revoke}
      >
        Programs that use it are refused immediately. This cannot be undone.
      </ConfirmDialog>
    </PageFrame>
  );
}

const columnsWith = (onRevoke: (key: Key) => void): readonly Column<Key>[] => [
  { id: "name", header: "Key", width: "minmax(5.5rem, 1.5fr)", cell: ({ name }) => name },
  { id: "role", header: "Role", width: "4rem", cell: ({ role }) => role },
  { id: "bound", header: "Only for", width: "minmax(7rem, 1.5fr)", cell: boundTo, wide: true },
  { id: "expires", header: "Expires", width: "5.5rem", cell: (key) => <Expiry at={key.expires_at} /> },
  { id: "used", header: "Last used", width: "7rem", align: "end", cell: ({ last_used_at }) => <Time at={last_used_at} />, wide: true },
  { id: "created", header: "Created", width: "7rem", align: "end", cell: ({ created_at }) => <Time at={created_at} />, wide: true },
  {
    id: "revoke",
    header: "Actions",
    width: "5.5rem",
    align: "end",
    cell: (key) => (
      <Button size="compact-xs" variant="subtle" color="red" aria-label={`Revoke ${key.name}`} onClick={() => onRevoke(key)}>
        Revoke
      </Button>
    ),
  },
];

function Expiry({ at }: { at: string | null }) {
  const now = useNow();
  if (at === null) return <>never</>;
  return toMs(at) <= now ? <StateBadge state="expired" /> : <Time at={at} />;
}
