import { Button } from "@mantine/core";
import type { QueueWithMetrics, QueueWithSecret } from "@tidemill/contract";
import { useState } from "react";
import { useRefresh } from "../../api/use-refresh.ts";
import { useNavigateFromHere } from "../../app/use-navigate-from-here.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { ConfirmDialog } from "../../ui/dialogs/ConfirmDialog.tsx";
import { SecretOnce } from "../../ui/dialogs/SecretOnce.tsx";
import { Icon } from "../../ui/Icon.tsx";
import { notify, notifyFailure } from "../../ui/notices.ts";
import { RequestButton } from "../../ui/RequestButton.tsx";
import { EnqueueTest } from "./EnqueueTest.tsx";
import { SettingsForm } from "./SettingsForm.tsx";

type Asked = "enqueue" | "settings" | "rotate" | "delete";

/** The actions on a queue, for people who may use them. */
export function QueueActions({ queue }: { queue: QueueWithMetrics }) {
  const { id, api, may } = useWorkspace();
  const refresh = useRefresh("queues");
  const fromHere = useNavigateFromHere();
  const [dialog, setDialog] = useState<Asked | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  if (!may("write")) return null;
  const { name, paused, metrics } = queue;
  const path = `/queues/${encodeURIComponent(name)}`;
  const close = () => setDialog(null);
  const setPaused = async (to: boolean): Promise<void> => {
    try {
      await api.patch(path, { paused: to });
      await refresh();
      notify({ tone: "done", text: `${name} was ${to ? "paused" : "resumed"}.`, undo: () => void setPaused(!to) });
    } catch (error) {
      notifyFailure(to ? "Not paused" : "Not resumed", error);
    }
  };
  const rotate = async () => {
    const { callback_secret } = await api.patch<QueueWithSecret>(path, { rotate_callback_secret: true });
    setSecret(callback_secret ?? null);
  };
  const remove = async () => {
    const navigate = fromHere();
    await api.delete(path);
    notify({ tone: "done", text: `The queue ${name} was deleted.` });
    await navigate({ to: "/w/$workspace/queues", params: { workspace: id } });
    await refresh();
  };
  const unfinished = metrics.waiting + metrics.active + metrics.delayed + metrics.pending_approval + metrics.failed;
  return (
    <>
      <RequestButton leftSection={<Icon name={paused ? "play" : "pause"} size={14} />} onRequest={() => setPaused(!paused)}>
        {paused ? "Resume" : "Pause"}
      </RequestButton>
      <Button leftSection={<Icon name="plus" size={14} />} onClick={() => setDialog("enqueue")}>
        Enqueue a job
      </Button>
      <Button onClick={() => setDialog("settings")}>Settings</Button>
      {queue.has_callback_secret && <Button onClick={() => setDialog("rotate")}>Rotate the secret</Button>}
      <Button color="red" variant="light" leftSection={<Icon name="trash" size={14} />} onClick={() => setDialog("delete")}>
        Delete
      </Button>
      <EnqueueTest queue={name} opened={dialog === "enqueue"} onClose={close} />
      <SettingsForm queue={queue} opened={dialog === "settings"} onClose={close} onSecret={setSecret} />
      <ConfirmDialog
        opened={dialog === "rotate"}
        onClose={close}
        title={`Rotate the callback secret of ${name}?`}
        action="Rotate"
        onConfirm={rotate}
        danger
      >
        <p>Callbacks are signed with the new secret from now on. Your handler refuses them until it knows it.</p>
      </ConfirmDialog>
      <ConfirmDialog
        opened={dialog === "delete"}
        onClose={close}
        title={`Delete the queue ${name}?`}
        action="Delete"
        onConfirm={remove}
        name={name}
        typed={unfinished > 0}
        count={unfinished}
        danger
      >
        <p>
          Its {unfinished.toLocaleString("en")} unfinished and failed jobs, its finished jobs and its schedules are deleted with it. This
          cannot be undone.
        </p>
      </ConfirmDialog>
      <SecretOnce
        secret={secret}
        title={`The callback secret of ${name}`}
        about="Your handler uses it to verify that callbacks come from this service."
        onClose={() => setSecret(null)}
      />
    </>
  );
}
