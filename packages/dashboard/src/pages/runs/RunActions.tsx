import { Button } from "@mantine/core";
import { useState } from "react";
import { useRefresh } from "../../api/use-refresh.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { ConfirmDialog } from "../../ui/dialogs/ConfirmDialog.tsx";
import { Icon } from "../../ui/Icon.tsx";
import { notify } from "../../ui/notices.ts";
import { hasEnded } from "./statuses.ts";
import type { RunRecord } from "./timeline/rows.ts";

/** Cancel, and retry. */
export function RunActions({ run: { runId, status, waitingFor, steps } }: { run: RunRecord }) {
  const { api, may } = useWorkspace();
  const refresh = useRefresh("runs");
  const [asked, setAsked] = useState<"cancel" | "retry" | null>(null);
  if (!may("write")) return null;
  const change = (verb: "cancel" | "retry", done: string) => async () => {
    await api.post(`/runs/${runId}/${verb}`);
    await refresh();
    notify({ tone: "done", text: done });
  };
  const isUndone = steps.some((step) => step.type === "undo" || (step.undoable && step.status === "completed"));
  const mayRetry = ((status === "failed" || status === "cancelled") && !isUndone) || waitingFor.some(({ type }) => type === "code");
  return (
    <>
      {mayRetry && (
        <Button leftSection={<Icon name="retry" size={14} />} onClick={() => setAsked("retry")}>
          Retry
        </Button>
      )}
      {!hasEnded(status) && (
        <Button leftSection={<Icon name="stop" size={14} />} onClick={() => setAsked("cancel")}>
          Cancel
        </Button>
      )}
      <ConfirmDialog
        opened={asked === "retry"}
        onClose={() => setAsked(null)}
        title="Retry this run?"
        action="Retry"
        onConfirm={change("retry", "The run continues.")}
      >
        It continues from its journal: steps that completed are not executed again.
      </ConfirmDialog>
      <ConfirmDialog
        opened={asked === "cancel"}
        onClose={() => setAsked(null)}
        title="Cancel this run?"
        action="Cancel the run"
        danger
        onConfirm={change("cancel", "The run is cancelled.")}
      >
        No further step starts. Steps that can be undone are undone, and the onCancel hook is called.
      </ConfirmDialog>
    </>
  );
}
