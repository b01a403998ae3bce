import { useState } from "react";
import { useWorkspace } from "../../app/workspace.tsx";
import { ConfirmDialog } from "../../ui/dialogs/ConfirmDialog.tsx";
import { JsonInput, jsonProblem, rawJson } from "../../ui/JsonInput.tsx";
import { notify } from "../../ui/notices.ts";

/** Completes a signal by hand, with a payload that the waiting step returns. */
export function CompleteSignal({ signal, onClose }: { signal: string | null; onClose: () => void }) {
  // Text that was typed for one signal is dropped when the dialog closes, so it is not there for another signal.
  return signal === null ? null : <Fields key={signal} signal={signal} onClose={onClose} />;
}

function Fields({ signal, onClose }: { signal: string; onClose: () => void }) {
  const { api } = useWorkspace();
  const [text, setText] = useState("");
  const complete = async () => {
    await api.post(`/signals/${encodeURIComponent(signal)}/complete`, rawJson(text));
    notify({ tone: "done", text: `The signal ${signal} is completed.` });
  };
  return (
    <ConfirmDialog
      opened
      onClose={onClose}
      title={`Complete ${signal}`}
      action="Complete"
      onConfirm={complete}
      disabled={jsonProblem(text) !== null}
    >
      <JsonInput
        label="Payload"
        description="JSON. The waiting step returns it. Empty means null."
        value={text}
        onChange={setText}
        autoFocus
      />
    </ConfirmDialog>
  );
}
