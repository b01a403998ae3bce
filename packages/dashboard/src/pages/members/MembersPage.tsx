import { Button } from "@mantine/core";
import type { CreatedInvitation, Invitation, Member } from "@tidemill/contract";
import { useState } from "react";
import { usePerson } from "../../api/session.ts";
import { useKeysetList } from "../../api/use-keyset-list.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { ConfirmDialog } from "../../ui/dialogs/ConfirmDialog.tsx";
import { EmptyState } from "../../ui/EmptyState.tsx";
import type { Column, NarrowRow } from "../../ui/list/columns.ts";
import { RecordList } from "../../ui/list/RecordList.tsx";
import { notify } from "../../ui/notices.ts";
import { PageFrame } from "../../ui/PageFrame.tsx";
import { Section } from "../../ui/Section.tsx";
import { Time } from "../../ui/Time.tsx";
import { InvitationMade } from "./InvitationMade.tsx";
import { InviteDialog } from "./InviteDialog.tsx";
import classes from "./members.module.css";
import { RevokeInvitation } from "./RevokeInvitation.tsx";
import { RoleDialog } from "./RoleDialog.tsx";

type Open =
  | { readonly kind: "invite" }
  | { readonly kind: "made"; readonly invitation: CreatedInvitation }
  | { readonly kind: "role" | "remove"; readonly member: Member }
  | { readonly kind: "revoke"; readonly invitation: Invitation };

const NARROW_MEMBER: NarrowRow = { lines: ["name role", "email email", "actions actions"], widths: "minmax(0, 1fr) auto" };

const NARROW_INVITATION: NarrowRow = { lines: ["email role", "expires actions"], widths: "minmax(0, 1fr) auto" };

/** The people of a workspace, and invitations to it. */
export default function MembersPage() {
  const { api, name } = useWorkspace();
  const me = usePerson();
  const members = useKeysetList<Member>({ kind: "members", path: "/members", idOf: ({ id }) => id });
  const invitations = useKeysetList<Invitation>({ kind: "members", path: "/invitations", idOf: ({ id }) => id });
  const [open, setOpen] = useState<Open | null>(null);
  const close = () => setOpen(null);
  const memberColumns: Column<Member>[] = [
    {
      id: "name",
      header: "Name",
      width: "minmax(8rem, 1fr)",
      cell: ({ id, name }) => (id === me.id ? <OwnName name={name} /> : name),
    },
    { id: "email", header: "Mail address", width: "minmax(10rem, 2fr)", cell: ({ email }) => email },
    { id: "role", header: "Role", width: "6rem", cell: ({ role }) => role },
    { id: "since", header: "Joined", width: "9rem", cell: ({ created_at }) => <Time at={created_at} />, wide: true },
    {
      id: "actions",
      header: "Actions",
      width: "13rem",
      align: "end",
      cell: (member) => (
        <>
          <Button size="compact-xs" aria-label={`Change role of ${member.name}`} onClick={() => setOpen({ kind: "role", member })}>
            Change role
          </Button>{" "}
          <Button size="compact-xs" aria-label={`Remove ${member.name}`} onClick={() => setOpen({ kind: "remove", member })}>
            Remove
          </Button>
        </>
      ),
    },
  ];
  const invitationColumns: Column<Invitation>[] = [
    { id: "email", header: "For", width: "minmax(10rem, 2fr)", cell: ({ email }) => email ?? "Anybody with the link" },
    { id: "role", header: "Role", width: "6rem", cell: ({ role }) => role },
    { id: "expires", header: "Expires", width: "9rem", cell: ({ expires_at }) => <Time at={expires_at} /> },
    {
      id: "actions",
      header: "Actions",
      width: "7rem",
      align: "end",
      cell: (invitation) => (
        <Button
          size="compact-xs"
          aria-label={`Revoke the invitation for ${invitation.email ?? "anybody"}`}
          onClick={() => setOpen({ kind: "revoke", invitation })}
        >
          Revoke
        </Button>
      ),
    },
  ];
  return (
    <PageFrame
      title="Members"
      actions={
        <Button variant="filled" onClick={() => setOpen({ kind: "invite" })}>
          Invite
        </Button>
      }
    >
      <RecordList
        list={members}
        columns={memberColumns}
        narrow={NARROW_MEMBER}
        label="Members"
        what="the members"
        nameOf={(member) => member.name}
        empty={<EmptyState title="This workspace has no members">Only API keys can use it. Invite somebody.</EmptyState>}
      />
      <Section title="Invitations">
        <RecordList
          list={invitations}
          columns={invitationColumns}
          narrow={NARROW_INVITATION}
          label="Invitations"
          what="the invitations"
          nameOf={({ email }) => email ?? "anybody"}
          empty={<p>No invitation is open.</p>}
        />
      </Section>
      {open?.kind === "invite" && (
        <InviteDialog
          onClose={close}
          onMade={(invitation) => {
            setOpen({ kind: "made", invitation });
            invitations.reload();
          }}
        />
      )}
      {open?.kind === "made" && <InvitationMade invitation={open.invitation} onClose={close} />}
      {open?.kind === "role" && (
        <RoleDialog
          member={open.member}
          onClose={close}
          onChanged={() => {
            close();
            members.reload();
          }}
        />
      )}
      {open?.kind === "remove" && (
        <ConfirmDialog
          opened
          danger
          onClose={close}
          title={`Remove ${open.member.name} from ${name}?`}
          action="Remove"
          onConfirm={async () => {
            await api.delete(`/members/${open.member.id}`);
            notify({ tone: "done", text: `${open.member.name} no longer belongs to ${name}` });
            members.reload();
          }}
        >
          <p>They lose access immediately. Keys that they have created stay valid: check the keys, too.</p>
        </ConfirmDialog>
      )}
      {open?.kind === "revoke" && (
        <RevokeInvitation
          onClose={close}
          revoke={async () => {
            await api.delete(`/invitations/${open.invitation.id}`);
            invitations.reload();
          }}
        />
      )}
    </PageFrame>
  );
}

function OwnName({ name }: { name: string }) {
  return (
    <span className={classes.own} title={name}>
      <span className={classes.ownName}>{name}</span>
      <span>(you)</span>
    </span>
  );
}
