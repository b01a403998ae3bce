import { useQueryClient } from "@tanstack/react-query";
import type { Workspace } from "@tidemill/contract";
import { operator } from "../../api/api.ts";
import { sessionQuery } from "../../api/session.ts";
import { briefly } from "../../api/use-refresh.ts";
import { ConfirmDialog } from "../../ui/dialogs/ConfirmDialog.tsx";
import { notify } from "../../ui/notices.ts";

interface DeleteWorkspaceProps {
  readonly workspace: Workspace;
  readonly onClose: () => void;
  readonly onDeleted: () => unknown;
}

/** Deletes a workspace, after its name was typed. */
export function DeleteWorkspace({ workspace: { id, name }, onClose, onDeleted }: DeleteWorkspaceProps) {
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
        await briefly(client.invalidateQueries(sessionQuery));
      }}
    >
      <p>
        Its queues, jobs, schedules, workflows, secrets and keys are deleted immediately, and work in flight is aborted. The people who
        belong to it lose access. This cannot be undone.
      </p>
    </ConfirmDialog>
  );
}
