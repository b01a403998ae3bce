import { TextInput } from "@mantine/core";
import { useState } from "react";
import { useRefresh } from "../../api/use-refresh.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { ConfirmDialog } from "../../ui/dialogs/ConfirmDialog.tsx";
import { JsonInput, jsonProblem, rawJson } from "../../ui/JsonInput.tsx";
import { notify } from "../../ui/notices.ts";
import { explained } from "./explain-error.ts";

/** Enqueues a job by hand. */
export function EnqueueTest({ queue, opened, onClose }: { queue: string; opened: boolean; onClose: () => void }) {
  const { api } = useWorkspace();
  const refresh = useRefresh("queues");
  const [payload, setPayload] = useState('{ "test": true }');
  const [tag, setTag] = useState("test");
  const enqueue = async () => {
    const body = { payload: rawJson(payload) ?? null, tag: tag === "" ? undefined : tag };
    const job = await explained(() => api.post<{ id: string }>(`/queues/${encodeURIComponent(queue)}/jobs`, body));
    await refresh();
    notify({ tone: "done", text: `${job.id} was enqueued.` });
  };
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={`Enqueue a job to ${queue}`}
      action="Enqueue"
      onConfirm={enqueue}
      disabled={jsonProblem(payload) !== null}
    >
      <JsonInput label="Payload" description="JSON. Empty means null." value={payload} onChange={setPayload} autoFocus />
      <TextInput
        mt="sm"
        label="Tag"
        description="Optional, to find it."
        value={tag}
        onChange={({ currentTarget }) => setTag(currentTarget.value)}
      />
    </ConfirmDialog>
  );
}
