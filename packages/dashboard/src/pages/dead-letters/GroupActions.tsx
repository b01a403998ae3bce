import type { DeadLetterGroup, Operation } from "@tidemill/contract";
import { useFilters } from "../../app/use-filters.ts";
import { useHere } from "../../app/use-navigate-from-here.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { ConfirmDialog } from "../../ui/dialogs/ConfirmDialog.tsx";

export interface GroupQuestion {
  readonly action: "retry" | "remove";
  readonly group: DeadLetterGroup;
}

const WHAT = {
  retry: {
    verb: "Retry",
    consequence: "They wait again, with a fresh set of attempts. If the cause is not fixed, they come back here.",
  },
  remove: { verb: "Purge", consequence: "They are removed with their payloads and attempts. This cannot be undone." },
} as const;

/** Asks before a group is retried or purged, and starts the operation, whose progress the page shows. */
export function GroupActions({ question: { action, group }, onClose }: { question: GroupQuestion; onClose: () => void }) {
  const { api, name } = useWorkspace();
  const { set } = useFilters("operation");
  const here = useHere();
  const { verb, consequence } = WHAT[action];
  const { count, fingerprint } = group;
  const start = async () => {
    const isHere = here();
    const operation = await api.post<Operation>(`/jobs/${action}`, { filter: { state: "failed", fingerprint } });
    if (isHere()) set("operation", operation.id);
  };
  return (
    <ConfirmDialog
      opened
      onClose={onClose}
      title={`${verb} ${count.toLocaleString("en")} ${count === 1 ? "job" : "jobs"}?`}
      action={verb}
      count={count}
      name={name}
      danger={action === "remove"}
      onConfirm={start}
    >
      {consequence}
    </ConfirmDialog>
  );
}
