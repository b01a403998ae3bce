import { Button } from "@mantine/core";
import type { Job, Schedule } from "@tidemill/contract";
import { useState } from "react";
import type { Read } from "../../api/raw-json.ts";
import { useRefresh } from "../../api/use-refresh.ts";
import { useNavigateFromHere } from "../../app/use-navigate-from-here.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { ConfirmDialog } from "../../ui/dialogs/ConfirmDialog.tsx";
import { Icon } from "../../ui/Icon.tsx";
import { notify, notifyFailure } from "../../ui/notices.ts";
import { RequestButton } from "../../ui/RequestButton.tsx";
import { ScheduleDialog } from "./ScheduleDialog.tsx";

/** What a person may do with a schedule. */
export function ScheduleActions({ schedule }: { schedule: Read<Schedule> }) {
  const { id, api, may } = useWorkspace();
  const refresh = useRefresh("schedules");
  const fromHere = useNavigateFromHere();
  const [editing, setEditing] = useState(false);
  const [deleting, setDeleting] = useState(false);
  if (!may("write")) return null;
  const { name, state, queue } = schedule;
  const path = `/schedules/${encodeURIComponent(name)}`;
  const set = async (verb: "pause" | "resume") => {
    try {
      await api.patch(`${path}/${verb}`);
      await refresh();
      const undo = () => set(verb === "pause" ? "resume" : "pause");
      notify({ tone: "done", text: verb === "pause" ? `${name} is paused. Its ticks are skipped.` : `${name} runs again.`, undo });
    } catch (error) {
      notifyFailure(verb === "pause" ? "Not paused" : "Not resumed", error);
    }
  };
  const trigger = async () => {
    try {
      const job = await api.post<Job>(`${path}/trigger`);
      await refresh();
      notify({ tone: "done", text: `${name} has enqueued ${job.id} in ${queue}.` });
    } catch (error) {
      notifyFailure("Not triggered", error);
    }
  };
  return (
    <>
      <RequestButton leftSection={<Icon name="play" size={14} />} onRequest={trigger}>
        Run now
      </RequestButton>
      <RequestButton
        leftSection={<Icon name={state === "paused" ? "play" : "pause"} size={14} />}
        onRequest={() => set(state === "paused" ? "resume" : "pause")}
      >
        {state === "paused" ? "Resume" : "Pause"}
      </RequestButton>
      <Button onClick={() => setEditing(true)}>Edit</Button>
      <Button color="red" variant="light" leftSection={<Icon name="trash" size={14} />} onClick={() => setDeleting(true)}>
        Delete
      </Button>
      {editing && <ScheduleDialog schedule={schedule} onClose={() => setEditing(false)} />}
      <ConfirmDialog
        opened={deleting}
        onClose={() => setDeleting(false)}
        title={`Delete ${name}?`}
        action="Delete"
        name={name}
        typed
        danger
        onConfirm={async () => {
          const navigate = fromHere();
          await api.delete(path);
          notify({ tone: "done", text: `${name} is deleted.` });
          await navigate({ to: "/w/$workspace/schedules", params: { workspace: id } });
        }}
      >
        <p>It creates no more jobs. The jobs that it has created stay.</p>
      </ConfirmDialog>
    </>
  );
}
