import type { CreatedInvitation } from "@tidemill/contract";
import { ROOT } from "../../api/request.ts";
import { SecretOnce } from "../../ui/dialogs/SecretOnce.tsx";

/** Shows the link of an invitation, under the address of this page. */
export function InvitationMade({ invitation, onClose }: { invitation: CreatedInvitation; onClose: () => void }) {
  const url = `${globalThis.location.origin}${ROOT}link/${invitation.url.split("/").at(-1)}`;
  const sent = invitation.mailed ? `It is also on its way to ${invitation.email}. ` : "Give it to the person. ";
  return <SecretOnce secret={url} title="The invitation's link" about={`${sent}It can be used once, within 72 hours.`} onClose={onClose} />;
}
