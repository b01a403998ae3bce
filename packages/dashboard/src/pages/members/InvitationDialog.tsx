import { TextInput } from "@mantine/core";
import type { CreatedInvitation, CreateInvitation, PersonRole } from "@tidemill/contract";
import { type ReactNode, useState } from "react";
import { Dialog } from "../../ui/dialogs/Dialog.tsx";
import { DialogButtons } from "../../ui/dialogs/DialogButtons.tsx";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { useSubmit } from "../../ui/use-submit.ts";
import { RoleField } from "./RoleField.tsx";

export interface InvitationDialogProps {
  readonly title: string;
  /** Text before the form. */
  readonly about?: ReactNode;
  /** Text after the form. */
  readonly children?: ReactNode;
  /** The role of the invitation. Left out: the person chooses. */
  readonly invitedAs?: PersonRole;
  /** The button that leaves without an invitation. */
  readonly leave: string;
  readonly invite: (invitation: CreateInvitation) => Promise<CreatedInvitation>;
  readonly onLeave: () => void;
  readonly onMade: (made: CreatedInvitation) => void;
}

/** Whom to invite, and with which role. */
export function InvitationDialog({ title, about, children, invitedAs, leave, invite, onLeave, onMade }: InvitationDialogProps) {
  const [email, setEmail] = useState("");
  const [chosen, setChosen] = useState<PersonRole>("read");
  const { busy, error, onSubmit } = useSubmit(async () => {
    onMade(await invite({ role: invitedAs ?? chosen, email: email.trim() === "" ? null : email.trim() }));
  });
  return (
    <Dialog locked={busy} onClose={onLeave} title={title}>
      {about}
      <form onSubmit={onSubmit}>
        <TextInput
          label="Mail address"
          description="Only a person with this address can accept the invitation. Without one, anybody who has the link can."
          type="email"
          value={email}
          onChange={({ currentTarget }) => setEmail(currentTarget.value)}
          autoComplete="off"
          mb="md"
          data-autofocus
        />
        {invitedAs === undefined && <RoleField role={chosen} onChange={setChosen} />}
        {error !== null && <ErrorState error={error} what="" title="Not invited" />}
        <DialogButtons action="Create the invitation" onCancel={onLeave} cancel={leave} busy={busy} />
      </form>
      <div inert={busy}>{children}</div>
    </Dialog>
  );
}
