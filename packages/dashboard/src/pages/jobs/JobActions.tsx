import { Button, Menu } from "@mantine/core";
import { useState } from "react";
import { useRefresh } from "../../api/use-refresh.ts";
import { useNavigateFromHere } from "../../app/use-navigate-from-here.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { copyText } from "../../ui/copy.ts";
import { ConfirmDialog } from "../../ui/dialogs/ConfirmDialog.tsx";
import { Icon } from "../../ui/Icon.tsx";
import { notify, notifyFailure } from "../../ui/notices.ts";
import { MANY } from "./actions.ts";
import { asCli, asCurl, asSdk } from "./copy-as.ts";
import type { JobRecord } from "./job-record.ts";
import { RunAgain } from "./RunAgain.tsx";

type Asked = "retry" | "cancel" | "remove" | "again" | null;

/** Retry, cancel, remove, run again with changes, and copy as a command. */
export function JobActions({ job }: { job: JobRecord }) {
  const { id: workspace, api, may } = useWorkspace();
  const refresh = useRefresh("jobs");
  const fromHere = useNavigateFromHere();
  const [asked, setAsked] = useState<Asked>(null);
  const path = `/queues/${encodeURIComponent(job.queue)}/jobs/${job.id}`;
  const close = () => setAsked(null);
  const changed = async (text: string) => {
    await refresh();
    notify({ tone: "done", text });
  };
  const retry = async () => {
    await api.post(`${path}/retry`);
    await changed("The job waits again.");
  };
  const cancel = async () => {
    await api.delete(path);
    await changed("The job is cancelled.");
  };
  const remove = async () => {
    const navigate = fromHere();
    await api.delete(path);
    notify({ tone: "done", text: "The job is removed." });
    await navigate({ to: "/w/$workspace/jobs", params: { workspace } });
  };
  const copy = (text: string) =>
    copyText(text)
      .then(() => notify({ tone: "done", text: "Copied." }))
      .catch((error: unknown) => notifyFailure("Not copied", error));
  return (
    <>
      {may("write") && MANY.retry.states.includes(job.state) && (
        <Button leftSection={<Icon name="retry" size={14} />} onClick={() => setAsked("retry")}>
          Retry
        </Button>
      )}
      {may("write") && MANY.cancel.states.includes(job.state) && (
        <Button leftSection={<Icon name="stop" size={14} />} onClick={() => setAsked("cancel")}>
          Cancel
        </Button>
      )}
      <Menu position="bottom-end">
        <Menu.Target>
          <Button rightSection={<Icon name="chevronDown" size={12} />}>More</Button>
        </Menu.Target>
        <Menu.Dropdown>
          {may("write") && <Menu.Item onClick={() => setAsked("again")}>Run again, changed…</Menu.Item>}
          {may("write") && MANY.remove.states.includes(job.state) && <Menu.Item onClick={() => setAsked("remove")}>Remove…</Menu.Item>}
          <Menu.Item onClick={() => void copy(asCurl(job))}>Copy as curl</Menu.Item>
          <Menu.Item onClick={() => void copy(asSdk(job))}>Copy for the SDK</Menu.Item>
          <Menu.Item onClick={() => void copy(asCli(job))}>Copy as a tidemill command</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <ConfirmDialog opened={asked === "retry"} onClose={close} title="Retry this job?" action="Retry" onConfirm={retry}>
        It waits again, with a fresh set of attempts. The numbering of its attempts continues.
      </ConfirmDialog>
      <ConfirmDialog opened={asked === "cancel"} onClose={close} title="Cancel this job?" action="Cancel the job" danger onConfirm={cancel}>
        No further attempt starts. One that is under way is ended.
      </ConfirmDialog>
      <ConfirmDialog opened={asked === "remove"} onClose={close} title="Remove this job?" action="Remove" danger onConfirm={remove}>
        Its payload, result and attempts are removed. This cannot be undone.
      </ConfirmDialog>
      {asked === "again" && <RunAgain job={job} onClose={close} />}
    </>
  );
}
