import { ConfirmDialog } from "../../ui/dialogs/ConfirmDialog.tsx";
import { notify } from "../../ui/notices.ts";

interface RevokeInvitationProps {
  readonly revoke: () => Promise<unknown>;
  readonly onClose: () => void;
}

/** Asks before an invitation is revoked. */
export function RevokeInvitation({ revoke, onClose }: RevokeInvitationProps) {
  return (
    <ConfirmDialog
      opened
      danger
      onClose={onClose}
      title="Revoke the invitation?"
      action="Revoke"
      onConfirm={async () => {
        await revoke();
        notify({ tone: "done", text: "The invitation can no longer be accepted" });
      }}
    >
      <p>Its link stops working immediately.</p>
    </ConfirmDialog>
  );
}
