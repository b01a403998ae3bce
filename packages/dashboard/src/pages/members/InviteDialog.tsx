import type { CreatedInvitation } from "@tidemill/contract";
import { useWorkspace } from "../../app/workspace.tsx";
import { InvitationDialog } from "./InvitationDialog.tsx";

/** Makes an invitation. */
export function InviteDialog({ onClose, onMade }: { onClose: () => void; onMade: (made: CreatedInvitation) => void }) {
  const { api, name } = useWorkspace();
  return (
    <InvitationDialog
      title={`Invite somebody to ${name}`}
      leave="Cancel"
      invite={(invitation) => api.post<CreatedInvitation>("/invitations", invitation)}
      onLeave={onClose}
      onMade={onMade}
    />
  );
}
