import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { CreatedWorkspace, Workspace } from "@tidemill/contract";
import { useState } from "react";
import { operator } from "../../api/api.ts";
import { usePages } from "../../api/use-pages.ts";
import { firstPage } from "../../app/pages.ts";
import { EmptyState } from "../../ui/EmptyState.tsx";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { LoadingState } from "../../ui/LoadingState.tsx";
import type { Column, NarrowRow } from "../../ui/list/columns.ts";
import { MoreButton } from "../../ui/list/MoreButton.tsx";
import { RowTable } from "../../ui/list/RowTable.tsx";
import { PageFrame } from "../../ui/PageFrame.tsx";
import { Time } from "../../ui/Time.tsx";
import { DeleteWorkspace } from "./DeleteWorkspace.tsx";
import { WorkspaceDialog } from "./WorkspaceDialog.tsx";
import { WorkspaceMade } from "./WorkspaceMade.tsx";

const PAGE_SIZE = 100;

type Open =
  | { readonly kind: "edit"; readonly workspace: Workspace | null }
  | { readonly kind: "delete"; readonly workspace: Workspace }
  | { readonly kind: "made"; readonly workspace: CreatedWorkspace | Workspace };

const FACTS: readonly Column<Workspace>[] = [
  {
    id: "name",
    header: "Name",
    width: "minmax(6rem, 2fr)",
    cell: ({ id, name }) => (
      <Link to={`/${firstPage()}` as string} params={{ workspace: id } as never} title={name}>
        {name}
      </Link>
    ),
  },
  { id: "plan", header: "Plan", width: "minmax(4.5rem, 1fr)", cell: ({ plan }) => plan },
  {
    id: "executions",
    header: "Executions a month",
    width: "9rem",
    align: "end",
    cell: ({ limits }) => limit(limits.executions_per_month),
    wide: true,
  },
  {
    id: "requests",
    header: "Requests a minute",
    width: "9rem",
    align: "end",
    cell: ({ limits }) => limit(limits.requests_per_minute),
    wide: true,
  },
  { id: "history", header: "History", width: "7rem", align: "end", cell: ({ limits }) => kept(limits.retention_days), wide: true },
  { id: "made", header: "Created", width: "6rem", align: "end", cell: ({ created_at }) => <Time at={created_at} />, wide: true },
];

const NARROW: NarrowRow = { lines: ["name plan", "actions actions"], widths: "minmax(0, 1fr) auto" };

/** All workspaces of the service, with their plans and limits, for operators. */
export default function WorkspacesPage() {
  const [open, setOpen] = useState<Open | null>(null);
  const pages = usePages<Workspace>(operator, "/workspaces", { queryKey: ["operator", "workspaces"], limit: PAGE_SIZE });
  const { records: workspaces, error, refetch } = pages;
  const columns: readonly Column<Workspace>[] = [
    ...FACTS,
    {
      id: "actions",
      header: "Actions",
      width: "12rem",
      align: "end",
      cell: (workspace) => (
        <>
          <Button size="compact-xs" aria-label={`Change ${workspace.name}`} onClick={() => setOpen({ kind: "edit", workspace })}>
            Change
          </Button>{" "}
          <Button
            size="compact-xs"
            aria-label={`Invite an administrator of ${workspace.name}`}
            onClick={() => setOpen({ kind: "made", workspace })}
          >
            Invite
          </Button>{" "}
          <Button size="compact-xs" aria-label={`Delete ${workspace.name}`} onClick={() => setOpen({ kind: "delete", workspace })}>
            Delete
          </Button>
        </>
      ),
    },
  ];
  return (
    <PageFrame
      title="Workspaces"
      actions={
        <Button variant="filled" onClick={() => setOpen({ kind: "edit", workspace: null })}>
          New workspace
        </Button>
      }
    >
      {error ? (
        <ErrorState error={error} what="the workspaces" onRetry={refetch} />
      ) : !workspaces ? (
        <LoadingState what="the workspaces" />
      ) : workspaces.length === 0 ? (
        <EmptyState title="There are no workspaces">Each tenant has one. Create the first.</EmptyState>
      ) : (
        <RowTable
          label="Workspaces"
          rows={workspaces.map((record) => ({ id: record.id, record, gone: false }))}
          columns={columns}
          narrow={NARROW}
          nameOf={({ name }) => name}
        />
      )}
      <MoreButton pages={pages} />
      {open?.kind === "edit" && (
        <WorkspaceDialog
          workspace={open.workspace}
          onClose={() => setOpen(null)}
          onSaved={(made) => {
            setOpen(made && { kind: "made", workspace: made });
            void refetch();
          }}
        />
      )}
      {open?.kind === "made" && <WorkspaceMade workspace={open.workspace} onClose={() => setOpen(null)} />}
      {open?.kind === "delete" && <DeleteWorkspace workspace={open.workspace} onClose={() => setOpen(null)} onDeleted={refetch} />}
    </PageFrame>
  );
}

const kept = (days: number | null): string => (days === null ? "forever" : `${days.toLocaleString("en")} days`);
const limit = (value: number | null): string => (value === null ? "no limit" : value.toLocaleString("en"));
