import { Button, Group, TextInput } from "@mantine/core";
import type { CreatedInvitation, CreatedWorkspace, Workspace } from "@tidemill/contract";
import { useState } from "react";
import { operator } from "../../api/api.ts";
import { Dialog } from "../../ui/dialogs/Dialog.tsx";
import { SecretOnce } from "../../ui/dialogs/SecretOnce.tsx";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { useSubmit } from "../../ui/use-submit.ts";
import { InvitationMade } from "../members/InvitationMade.tsx";

interface WorkspaceMadeProps {
  readonly workspace: CreatedWorkspace | Workspace;
  readonly onClose: () => void;
}

/** What follows when a workspace was made: its first key, then an invitation for its first administrator. Of another, only the invitation. */
export function WorkspaceMade({ workspace, onClose }: WorkspaceMadeProps) {
  const [isStored, setIsStored] = useState(false);
  const [invitation, setInvitation] = useState<CreatedInvitation | null>(null);
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
  if (invitation) return <InvitationMade invitation={invitation} onClose={onClose} />;
  return <InviteFirst workspace={workspace} onClose={onClose} onMade={setInvitation} />;
}

interface InviteFirstProps {
  readonly workspace: Pick<Workspace, "id" | "name">;
  readonly onClose: () => void;
  readonly onMade: (invitation: CreatedInvitation) => void;
}

function InviteFirst({ workspace: { id, name }, onClose, onMade }: InviteFirstProps) {
  const [email, setEmail] = useState("");
  const { busy, error, onSubmit } = useSubmit(async () => {
    const body = { role: "admin", email: email.trim() === "" ? null : email.trim() };
    onMade(await operator.post<CreatedInvitation>(`/workspaces/${id}/invitations`, body));
  });
  return (
    <Dialog onClose={onClose} title={`Who administers ${name}?`}>
      <form onSubmit={onSubmit}>
        <p>Invite its first administrator, who invites the others. You can also do that later, in the list of workspaces.</p>
        <TextInput
          label="Mail address"
          description="Only a person with this address can accept the invitation. Without one, anybody who has the link can."
          type="email"
          value={email}
          onChange={({ currentTarget }) => setEmail(currentTarget.value)}
          autoComplete="off"
          data-autofocus
        />
        {error !== null && <ErrorState error={error} what="" title="Not invited" />}
        <Group justify="flex-end" mt="md">
          <Button onClick={onClose}>Not now</Button>
          <Button type="submit" variant="filled" loading={busy}>
            Make the invitation
          </Button>
        </Group>
      </form>
    </Dialog>
  );
}
