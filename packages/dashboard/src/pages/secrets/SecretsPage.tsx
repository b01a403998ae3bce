import { Button } from "@mantine/core";
import type { Secret } from "@tidemill/contract";
import { useState } from "react";
import { useKeysetList } from "../../api/use-keyset-list.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { EmptyState } from "../../ui/EmptyState.tsx";
import { Icon } from "../../ui/Icon.tsx";
import type { Column } from "../../ui/list/columns.ts";
import { RecordList } from "../../ui/list/RecordList.tsx";
import { PageFrame } from "../../ui/PageFrame.tsx";
import { Time } from "../../ui/Time.tsx";
import { limitText } from "./limits.ts";
import { SecretForm } from "./SecretForm.tsx";

const COLUMNS: readonly Column<Secret>[] = [
  { id: "name", header: "Secret", width: "minmax(8rem, 1.5fr)", cell: ({ name }) => name },
  { id: "hint", header: "Value", width: "6rem", cell: ({ value_hint }) => <code>{value_hint}</code> },
  {
    id: "queues",
    header: "Queues",
    width: "minmax(7rem, 1fr)",
    cell: ({ allowed_queues }) => limitText(allowed_queues, "all"),
    wide: true,
  },
  { id: "hosts", header: "Hosts", width: "minmax(7rem, 1fr)", cell: ({ allowed_hosts }) => limitText(allowed_hosts, "all"), wide: true },
  { id: "changed", header: "Changed", width: "6rem", align: "end", cell: ({ updated_at }) => <Time at={updated_at} /> },
];

const nameOf = ({ name }: Secret): string => name;

/** The secrets of the workspace, without their values. */
export default function SecretsPage() {
  const { may } = useWorkspace();
  const list = useKeysetList<Secret>({ kind: "secrets", path: "/secrets", idOf: nameOf });
  const [creating, setCreating] = useState(false);
  return (
    <PageFrame
      title="Secrets"
      actions={
        may("admin") && (
          <Button variant="filled" leftSection={<Icon name="plus" size={14} />} onClick={() => setCreating(true)}>
            New secret
          </Button>
        )
      }
    >
      <RecordList
        label="Secrets"
        what="the secrets"
        list={list}
        columns={COLUMNS}
        target={({ name }) => ({ to: "secrets/$secret", params: { secret: name } })}
        empty={
          <EmptyState title="No secret yet">
            Store what your handlers need, and write <code>{"${{ secrets.NAME }}"}</code> in an address, a header or a payload. The value is
            inserted when a request is sent.
          </EmptyState>
        }
      />
      <SecretForm opened={creating} onClose={() => setCreating(false)} onDone={list.reload} />
    </PageFrame>
  );
}
