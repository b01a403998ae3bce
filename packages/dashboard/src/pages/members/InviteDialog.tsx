import type { CreatedInvitation } from "@tidemill/contract";
import { useWorkspace } from "../../app/workspace.tsx";
import { Dialog } from "../../ui/dialogs/Dialog.tsx";
import { InvitationForm } from "./InvitationForm.tsx";

/** Makes an invitation. */
export function InviteDialog({ onClose, onMade }: { onClose: () => void; onMade: (made: CreatedInvitation) => void }) {
  const { api, name } = useWorkspace();
  return (
    <Dialog onClose={onClose} title={`Invite somebody to ${name}`}>
      <InvitationForm
        leave="Cancel"
        invite={(invitation) => api.post<CreatedInvitation>("/invitations", invitation)}
        onLeave={onClose}
        onMade={onMade}
      />
    </Dialog>
  );
}
