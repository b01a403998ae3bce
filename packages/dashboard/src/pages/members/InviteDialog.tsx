import { Button, Group, TextInput } from "@mantine/core";
import type { CreatedInvitation, PersonRole } from "@tidemill/contract";
import { useState } from "react";
import { useWorkspace } from "../../app/workspace.tsx";
import { Dialog } from "../../ui/dialogs/Dialog.tsx";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { useSubmit } from "../../ui/use-submit.ts";
import { RoleField } from "./RoleField.tsx";

/** Makes an invitation. */
export function InviteDialog({ onClose, onMade }: { onClose: () => void; onMade: (made: CreatedInvitation) => void }) {
  const { api, name } = useWorkspace();
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<PersonRole>("read");
  const { busy, error, onSubmit } = useSubmit(async () => {
    onMade(await api.post<CreatedInvitation>("/invitations", { role, email: email.trim() === "" ? null : email.trim() }));
  });
  return (
    <Dialog onClose={onClose} title={`Invite somebody to ${name}`}>
      <form onSubmit={onSubmit}>
        <TextInput
          label="Mail address"
          description="Only a person with this address can accept it. Without one, anybody who has the link can."
          type="email"
          value={email}
          onChange={({ currentTarget }) => setEmail(currentTarget.value)}
          autoComplete="off"
          mb="md"
          data-autofocus
        />
        <RoleField role={role} onChange={setRole} />
        {error !== null && <ErrorState error={error} what="" title="Not invited" />}
        <Group justify="flex-end" mt="md">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="filled" loading={busy}>
            Make the invitation
          </Button>
        </Group>
      </form>
    </Dialog>
  );
}
