import { Button, Group } from "@mantine/core";
import type { Member } from "@tidemill/contract";
import { useState } from "react";
import { useWorkspace } from "../../app/workspace.tsx";
import { Dialog } from "../../ui/dialogs/Dialog.tsx";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { notify } from "../../ui/notices.ts";
import { useSubmit } from "../../ui/use-submit.ts";
import { RoleField } from "./RoleField.tsx";

/** Changes what a member may do. */
export function RoleDialog({ member, onClose, onChanged }: { member: Member; onClose: () => void; onChanged: () => void }) {
  const { api } = useWorkspace();
  const [role, setRole] = useState(member.role);
  const { busy, error, onSubmit } = useSubmit(async () => {
    await api.patch(`/members/${member.id}`, { role });
    notify({ tone: "done", text: `${member.name} has the role ${role}` });
    onChanged();
  });
  return (
    <Dialog locked={busy} onClose={onClose} title={`The role of ${member.name}`}>
      <form onSubmit={onSubmit}>
        <RoleField role={role} onChange={setRole} />
        {error !== null && <ErrorState error={error} what="" title="Not changed" />}
        <Group justify="flex-end" mt="md">
          <Button onClick={onClose} disabled={busy}>
            Cancel
          </Button>
          <Button type="submit" variant="filled" loading={busy} disabled={role === member.role}>
            Change the role
          </Button>
        </Group>
      </form>
    </Dialog>
  );
}
