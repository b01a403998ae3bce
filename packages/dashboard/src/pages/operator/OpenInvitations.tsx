import { Button, Group } from "@mantine/core";
import type { Invitation } from "@tidemill/contract";
import { operator } from "../../api/api.ts";
import { usePages } from "../../api/use-pages.ts";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { MoreButton } from "../../ui/list/MoreButton.tsx";
import { Section } from "../../ui/Section.tsx";
import { Time } from "../../ui/Time.tsx";
import classes from "./OpenInvitations.module.css";

const PAGE_SIZE = 20;

interface OpenInvitationsProps {
  readonly workspaceId: string;
  readonly onRevoke: (invitation: Invitation) => void;
}

export const invitationsKey = (workspaceId: string) => ["operator", "invitations", workspaceId];

/** The invitations to a workspace that can still be accepted. Empty if there are none. */
export function OpenInvitations({ workspaceId, onRevoke }: OpenInvitationsProps) {
  const options = { queryKey: invitationsKey(workspaceId), limit: PAGE_SIZE };
  const pages = usePages<Invitation>(operator, `/workspaces/${workspaceId}/invitations`, options);
  const { records = [], error, refetch } = pages;
  if (error) return <ErrorState error={error} what="the open invitations" onRetry={refetch} />;
  if (records.length === 0) return null;
  return (
    <Section title="Open invitations">
      <ul className={classes.list}>
        {records.map((invitation) => (
          <Group key={invitation.id} component="li" justify="space-between" wrap="nowrap">
            <span>
              {invitation.email ?? "Anybody with the link"}, {invitation.role}, expires <Time at={invitation.expires_at} />
            </span>
            <Button
              size="compact-xs"
              aria-label={`Revoke the invitation for ${invitation.email ?? "anybody"}`}
              onClick={() => onRevoke(invitation)}
            >
              Revoke
            </Button>
          </Group>
        ))}
      </ul>
      <MoreButton pages={pages} />
    </Section>
  );
}
