import { SegmentedControl, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { QueueWithSecret } from "@tidemill/contract";
import { useState } from "react";
import { useNavigateFromHere } from "../../app/use-navigate-from-here.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { ConfirmDialog } from "../../ui/dialogs/ConfirmDialog.tsx";
import { SecretOnce } from "../../ui/dialogs/SecretOnce.tsx";
import { notify } from "../../ui/notices.ts";
import { explained } from "./explain-error.ts";

/** Creates a queue, shows its secret if it has one, and goes to it. */
export function CreateQueue({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const { id, api } = useWorkspace();
  const fromHere = useNavigateFromHere();
  const navigate = useNavigate();
  const client = useQueryClient();
  const pageOf = (queue: string) => ({ to: "/w/$workspace/queues/$queue", params: { workspace: id, queue } }) as const;
  const [name, setName] = useState("");
  const [address, setAddress] = useState("");
  const [type, setType] = useState("standard");
  const [created, setCreated] = useState<QueueWithSecret | null>(null);
  const create = async () => {
    const goOn = fromHere();
    const body = { name, type, callback_url: address === "" ? undefined : address };
    const queue = await explained(() => api.post<QueueWithSecret>("/queues", body));
    notify({ tone: "done", text: `The queue ${queue.name} was created.` });
    // The list is loaded when it is shown the next time.
    void client.invalidateQueries({ queryKey: [id, "list", "queues"], refetchType: "none" });
    if (queue.callback_secret) setCreated(queue);
    else await goOn(pageOf(queue.name));
  };
  return (
    <>
      <ConfirmDialog opened={opened} onClose={onClose} title="Create a queue" action="Create" onConfirm={create} disabled={name === ""}>
        <TextInput
          label="Name"
          description="Letters, digits, dots, dashes and underscores. It cannot be changed."
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
          required
          data-autofocus
        />
        <TextInput
          mt="sm"
          label="Callback URL"
          description="Where jobs are delivered. Empty: workers take them."
          placeholder="https://example.com/tidemill"
          value={address}
          onChange={({ currentTarget }) => setAddress(currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
        />
        <SegmentedControl
          mt="md"
          aria-label="Type"
          value={type}
          onChange={setType}
          data={[
            { value: "standard", label: "Jobs start by themselves" },
            { value: "approval", label: "Each job must be approved" },
          ]}
        />
      </ConfirmDialog>
      <SecretOnce
        secret={created?.callback_secret ?? null}
        title={`The callback secret of ${created?.name ?? ""}`}
        about="Your handler uses it to verify that callbacks come from this service."
        onClose={() => {
          const queue = created?.name ?? "";
          setCreated(null);
          void navigate(pageOf(queue));
        }}
      />
    </>
  );
}
