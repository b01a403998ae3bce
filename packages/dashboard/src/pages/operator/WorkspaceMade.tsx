import { useQueryClient } from "@tanstack/react-query";
import type { CreatedInvitation, CreatedWorkspace, Invitation, Workspace } from "@tidemill/contract";
import { useState } from "react";
import { operator } from "../../api/api.ts";
import { briefly } from "../../api/use-refresh.ts";
import { SecretOnce } from "../../ui/dialogs/SecretOnce.tsx";
import { InvitationDialog } from "../members/InvitationDialog.tsx";
import { InvitationMade } from "../members/InvitationMade.tsx";
import { RevokeInvitation } from "../members/RevokeInvitation.tsx";
import { invitationsKey, OpenInvitations } from "./OpenInvitations.tsx";

interface WorkspaceMadeProps {
  readonly workspace: CreatedWorkspace | Workspace;
  readonly onClose: () => void;
}

/**
 * Dialogs after a workspace was created: its first key, then an invitation for its first administrator. For an existing workspace, only the
 * invitation.
 */
export function WorkspaceMade({ workspace, onClose }: WorkspaceMadeProps) {
  const [isStored, setIsStored] = useState(false);
  const [invitation, setInvitation] = useState<CreatedInvitation | null>(null);
  const [revoked, setRevoked] = useState<Invitation | null>(null);
  const client = useQueryClient();
  // The list of invitations is hidden while another dialog is open.
  const haveChanged = () => briefly(client.invalidateQueries({ queryKey: invitationsKey(workspace.id), refetchType: "all" }));
  if ("key" in workspace && !isStored) {
    return (
      <SecretOnce
        secret={workspace.key}
        title={`The first key of ${workspace.name}`}
        about="It has the role admin."
        onClose={() => setIsStored(true)}
      />
    );
  }
  if (revoked) {
    const path = `/workspaces/${workspace.id}/invitations/${revoked.id}`;
    const revoke = async () => {
      await operator.delete(path);
      await haveChanged();
    };
    return <RevokeInvitation revoke={revoke} onClose={() => setRevoked(null)} />;
  }
  if (invitation) return <InvitationMade invitation={invitation} onClose={onClose} />;
  return (
    <InvitationDialog
      title={`Who administers ${workspace.name}?`}
      about={<p>Invite its first administrator, who invites the others. You can also do that later, in the list of workspaces.</p>}
      invitedAs="admin"
      leave="Not now"
      invite={(sent) => operator.post<CreatedInvitation>(`/workspaces/${workspace.id}/invitations`, sent)}
      onLeave={onClose}
      onMade={(made) => {
        setInvitation(made);
        void haveChanged();
      }}
    >
      <OpenInvitations workspaceId={workspace.id} onRevoke={setRevoked} />
    </InvitationDialog>
  );
}
