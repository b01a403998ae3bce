import { NumberInput, TextInput } from "@mantine/core";
import type { Job } from "@tidemill/contract";
import { useState } from "react";
import { RawJson } from "../../api/raw-json.ts";
import { useNavigateFromHere } from "../../app/use-navigate-from-here.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { ConfirmDialog } from "../../ui/dialogs/ConfirmDialog.tsx";
import { JsonInput, jsonProblem, rawJson } from "../../ui/JsonInput.tsx";
import { notify } from "../../ui/notices.ts";
import type { JobRecord } from "./job-record.ts";

/** Enqueues a job like this one, with changes, and goes to it. */
export function RunAgain({ job, onClose }: { job: JobRecord; onClose: () => void }) {
  const { id: workspace, api } = useWorkspace();
  const fromHere = useNavigateFromHere();
  const [payload, setPayload] = useState(job.payload instanceof RawJson ? job.payload.text : "null");
  const [tag, setTag] = useState(job.tag ?? "");
  const [key, setKey] = useState(job.concurrencyKey ?? "");
  const [priority, setPriority] = useState<number | string>(job.priority);
  const run = async () => {
    const navigate = fromHere();
    const body = {
      payload: rawJson(payload) ?? null,
      ...(tag !== "" && { tag }),
      ...(key !== "" && { concurrencyKey: key }),
      priority: Number(priority),
    };
    const { id } = await api.post<Job>(`/queues/${encodeURIComponent(job.queue)}/jobs`, body);
    notify({ tone: "done", text: "A new job is enqueued." });
    await navigate({ to: "/w/$workspace/jobs/$job", params: { workspace, job: id } });
  };
  return (
    <ConfirmDialog
      opened
      onClose={onClose}
      title={`Run it again in ${job.queue}`}
      action="Enqueue"
      onConfirm={run}
      disabled={jsonProblem(payload) !== null}
    >
      <JsonInput label="Payload" description="JSON. It is sent as it is typed." value={payload} onChange={setPayload} autoFocus />
      <TextInput mt="sm" label="Tag" value={tag} onChange={({ currentTarget }) => setTag(currentTarget.value)} />
      <TextInput mt="sm" label="Concurrency key" value={key} onChange={({ currentTarget }) => setKey(currentTarget.value)} />
      <NumberInput mt="sm" label="Priority" min={-100} max={100} value={priority} onChange={setPriority} />
    </ConfirmDialog>
  );
}
