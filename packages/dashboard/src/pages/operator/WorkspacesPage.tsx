import { Button, Table } from "@mantine/core";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { CreatedWorkspace, Workspace } from "@tidemill/contract";
import { useState } from "react";
import { operator } from "../../api/api.ts";
import { sessionQuery } from "../../api/session.ts";
import { firstPage } from "../../app/pages.ts";
import { ConfirmDialog } from "../../ui/dialogs/ConfirmDialog.tsx";
import { EmptyState } from "../../ui/EmptyState.tsx";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { LoadingState } from "../../ui/LoadingState.tsx";
import { notify } from "../../ui/notices.ts";
import { PageFrame } from "../../ui/PageFrame.tsx";
import { Time } from "../../ui/Time.tsx";
import { WorkspaceDialog } from "./WorkspaceDialog.tsx";
import { WorkspaceMade } from "./WorkspaceMade.tsx";

const PAGE_SIZE = 100;

type Open =
  | { readonly kind: "edit"; readonly workspace: Workspace | null }
  | { readonly kind: "delete"; readonly workspace: Workspace }
  | { readonly kind: "made"; readonly workspace: CreatedWorkspace };

/** All workspaces of the service, with their plans and limits, for operators. */
export default function WorkspacesPage() {
  const [open, setOpen] = useState<Open | null>(null);
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ["operator", "workspaces"],
    queryFn: ({ pageParam, signal }) =>
      operator.get<{ data: Workspace[]; next_cursor: string | null }>("/workspaces", {
        query: { limit: PAGE_SIZE, cursor: pageParam },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_cursor }) => next_cursor,
  });
  const workspaces = data?.pages.flatMap((page) => page.data) ?? [];
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
      ) : !data ? (
        <LoadingState what="the workspaces" />
      ) : workspaces.length === 0 ? (
        <EmptyState title="There are no workspaces">Each tenant has one. Make the first.</EmptyState>
      ) : (
        <Table.ScrollContainer minWidth={700}>
          <Table aria-label="Workspaces">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Name</Table.Th>
                <Table.Th>Plan</Table.Th>
                <Table.Th>Executions a month</Table.Th>
                <Table.Th>Requests a minute</Table.Th>
                <Table.Th>History</Table.Th>
                <Table.Th>Made</Table.Th>
                <Table.Th>Actions</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {workspaces.map((workspace) => (
                <Table.Tr key={workspace.id}>
                  <Table.Td>
                    <Link to={`/${firstPage()}` as string} params={{ workspace: workspace.id } as never}>
                      {workspace.name}
                    </Link>
                  </Table.Td>
                  <Table.Td>{workspace.plan}</Table.Td>
                  <Table.Td>{limit(workspace.limits.executions_per_month)}</Table.Td>
                  <Table.Td>{limit(workspace.limits.requests_per_minute)}</Table.Td>
                  <Table.Td>{workspace.limits.retention_days === null ? "for ever" : `${workspace.limits.retention_days} days`}</Table.Td>
                  <Table.Td>
                    <Time at={workspace.created_at} />
                  </Table.Td>
                  <Table.Td>
                    <Button size="compact-xs" aria-label={`Change ${workspace.name}`} onClick={() => setOpen({ kind: "edit", workspace })}>
                      Change
                    </Button>{" "}
                    <Button
                      size="compact-xs"
                      aria-label={`Delete ${workspace.name}`}
                      onClick={() => setOpen({ kind: "delete", workspace })}
                    >
                      Delete
                    </Button>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
      {hasNextPage && (
        <Button mt="md" onClick={() => void fetchNextPage()} loading={isFetchingNextPage}>
          More
        </Button>
      )}
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
      {open?.kind === "delete" && <DeleteDialog workspace={open.workspace} onClose={() => setOpen(null)} onDeleted={refetch} />}
    </PageFrame>
  );
}

interface DeleteDialogProps {
  readonly workspace: Workspace;
  readonly onClose: () => void;
  readonly onDeleted: () => unknown;
}

function DeleteDialog({ workspace: { id, name }, onClose, onDeleted }: DeleteDialogProps) {
  const client = useQueryClient();
  return (
    <ConfirmDialog
      opened
      danger
      typed
      name={name}
      onClose={onClose}
      title={`Delete ${name}?`}
      action="Delete the workspace"
      onConfirm={async () => {
        await operator.delete(`/workspaces/${id}`);
        notify({ tone: "done", text: `${name} is deleted` });
        onDeleted();
        await client.invalidateQueries(sessionQuery);
      }}
    >
      <p>
        Its queues, jobs, schedules, workflows, secrets and keys are gone at once, and what is in flight is aborted. The people who belong
        to it lose access. This cannot be undone.
      </p>
    </ConfirmDialog>
  );
}

const limit = (value: number | null): string => (value === null ? "no limit" : value.toLocaleString("en"));
