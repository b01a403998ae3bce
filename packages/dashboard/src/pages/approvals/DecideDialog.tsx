import { Textarea } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { ApiError } from "../../api/api-error.ts";
import { usePerson } from "../../api/session.ts";
import { useHere } from "../../app/use-navigate-from-here.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { Dialog } from "../../ui/dialogs/Dialog.tsx";
import { DialogButtons } from "../../ui/dialogs/DialogButtons.tsx";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { isComposing } from "../../ui/is-composing.ts";
import { notify } from "../../ui/notices.ts";
import { pathOf } from "./path-of.ts";

export type Ruling = "approve" | "reject";

const WORDS = {
  approve: { title: "Approve this job?", action: "Approve", label: "Comment", done: "approved", field: "comment" },
  reject: { title: "Reject this job?", action: "Reject", label: "Reason", done: "rejected", field: "reason" },
} as const;

interface DecideDialogProps {
  readonly job: { readonly queue: string; readonly id: string };
  readonly ruling: Ruling;
  readonly onClose: () => void;
  readonly onDecided: () => void;
  /** Somebody else has decided. */
  readonly onTooLate: () => void;
}

/** Asks for a comment or a reason, and decides as the person. Enter decides; with Shift it begins a line. */
export function DecideDialog({ job, ruling, onClose, onDecided, onTooLate }: DecideDialogProps) {
  const { api, id: workspaceId } = useWorkspace();
  const client = useQueryClient();
  const here = useHere();
  const { email } = usePerson();
  const [text, setText] = useState("");
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const { title, action, label, done, field } = WORDS[ruling];
  const decide = async (event?: FormEvent) => {
    event?.preventDefault();
    if (busy) return;
    setBusy(true);
    setError(null);
    const isHere = here();
    try {
      await api.post(`${pathOf(job)}/${ruling}`, { by: email, ...(text.trim() !== "" && { [field]: text.trim() }) });
      void client.invalidateQueries({ queryKey: [workspaceId, "approvals"] });
      notify({ tone: "done", text: `The job of ${job.queue} is ${done}.` });
      if (isHere()) onDecided();
      else onClose();
    } catch (problem) {
      setBusy(false);
      setError(problem);
      if (problem instanceof ApiError && problem.code === "INVALID_STATE") onTooLate();
    }
  };
  const tooLate = error instanceof ApiError && error.code === "INVALID_STATE";
  return (
    <Dialog locked={busy} onClose={onClose} title={title}>
      <form onSubmit={(event) => void decide(event)}>
        <Textarea
          label={label}
          description="It is stored with the job and in the audit log. It may be left empty."
          value={text}
          maxLength={4_096}
          rows={3}
          data-autofocus
          onChange={({ currentTarget }) => setText(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || isComposing(event)) return;
            event.preventDefault();
            void decide();
          }}
        />
        {error !== null && (
          <ErrorState error={error} what="" title={tooLate ? "Somebody else has decided meanwhile" : `The job was not ${done}`} />
        )}
        <DialogButtons action={action} onCancel={onClose} busy={busy} disabled={tooLate} danger={ruling === "reject"} />
      </form>
    </Dialog>
  );
}
