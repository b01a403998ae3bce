import type { Member } from "@tidemill/contract";
import { useState } from "react";
import { useWorkspace } from "../../app/workspace.tsx";
import { Dialog } from "../../ui/dialogs/Dialog.tsx";
import { DialogButtons } from "../../ui/dialogs/DialogButtons.tsx";
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
        <DialogButtons action="Change the role" onCancel={onClose} busy={busy} disabled={role === member.role} />
      </form>
    </Dialog>
  );
}
