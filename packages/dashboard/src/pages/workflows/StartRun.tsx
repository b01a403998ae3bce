import { TextInput } from "@mantine/core";
import type { Triggered } from "@tidemill/contract";
import { useState } from "react";
import { useNavigateFromHere } from "../../app/use-navigate-from-here.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { ConfirmDialog } from "../../ui/dialogs/ConfirmDialog.tsx";
import { JsonInput, jsonProblem, rawJson } from "../../ui/JsonInput.tsx";
import { notify } from "../../ui/notices.ts";

/** Starts a run by hand, and goes to it. */
export function StartRun({ workflowId, opened, onClose }: { workflowId: string; opened: boolean; onClose: () => void }) {
  const { id, api } = useWorkspace();
  const fromHere = useNavigateFromHere();
  const [input, setInput] = useState("");
  const [key, setKey] = useState("");
  const start = async () => {
    const navigate = fromHere();
    const body = { input: rawJson(input), idempotencyKey: key === "" ? undefined : key };
    const { runIds, duplicate } = await api.post<Triggered>(`/workflows/${encodeURIComponent(workflowId)}/trigger`, body);
    notify({ tone: "done", text: duplicate ? "This key was used before. This is the run that it started." : "The run has started." });
    await navigate({ to: "/w/$workspace/runs/$run", params: { workspace: id, run: runIds[0] ?? "" } });
  };
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={`Start a run of ${workflowId}`}
      action="Start"
      onConfirm={start}
      disabled={jsonProblem(input) !== null}
    >
      <JsonInput label="Input" description="JSON. Empty means null." value={input} onChange={setInput} autoFocus />
      <TextInput
        mt="sm"
        label="Idempotency key"
        description="Optional. Another trigger with the same key starts no second run."
        value={key}
        onChange={({ currentTarget }) => setKey(currentTarget.value)}
      />
    </ConfirmDialog>
  );
}
