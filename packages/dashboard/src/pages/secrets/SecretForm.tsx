import { PasswordInput, TextInput } from "@mantine/core";
import type { Secret } from "@tidemill/contract";
import { useState } from "react";
import { useRefresh } from "../../api/use-refresh.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { ConfirmDialog } from "../../ui/dialogs/ConfirmDialog.tsx";
import { notify } from "../../ui/notices.ts";
import { readLimit } from "./limits.ts";

interface SecretFormProps {
  readonly opened: boolean;
  /** Undefined: a new secret. */
  readonly secret?: Secret | undefined;
  readonly onClose: () => void;
  readonly onDone?: () => void;
}

/** Stores a secret, or changes its value and where it may be used. */
export function SecretForm(props: SecretFormProps) {
  // What was typed is forgotten when it closes.
  return props.opened ? <Fields key="opened" {...props} /> : null;
}

function Fields({ opened, secret, onClose, onDone }: SecretFormProps) {
  const { api } = useWorkspace();
  const refresh = useRefresh("secrets");
  const [name, setName] = useState(secret?.name ?? "");
  const [value, setValue] = useState("");
  const [queues, setQueues] = useState(secret?.allowed_queues?.join(", ") ?? "");
  const [hosts, setHosts] = useState(secret?.allowed_hosts?.join(", ") ?? "");
  const save = async () => {
    const limits = { allowed_queues: readLimit(queues), allowed_hosts: readLimit(hosts) };
    if (secret) await api.patch(`/secrets/${secret.name}`, { ...limits, ...(value !== "" && { value }) });
    else await api.post("/secrets", { name, value, ...limits });
    await refresh();
    notify({ tone: "done", text: secret ? "The secret is changed. Attempts from now on use it." : "The secret is stored." });
    onDone?.();
  };
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={secret ? `Change ${secret.name}` : "New secret"}
      action={secret ? "Save" : "Store"}
      onConfirm={save}
      disabled={name === "" || (!secret && value === "")}
    >
      {!secret && (
        <TextInput
          label="Name"
          description="Capital letters, digits and underscores: STRIPE_KEY."
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
          data-autofocus
        />
      )}
      <PasswordInput
        mt="sm"
        label={secret ? "New value" : "Value"}
        description={secret ? "Leave it empty to keep the value." : "It is encrypted, and never shown again."}
        value={value}
        onChange={({ currentTarget }) => setValue(currentTarget.value)}
        autoComplete="new-password"
        data-autofocus={secret ? true : undefined}
      />
      <TextInput
        mt="sm"
        label="Only for these queues"
        description="Names between commas. Empty: all queues, workflows and webhooks."
        value={queues}
        onChange={({ currentTarget }) => setQueues(currentTarget.value)}
        autoComplete="off"
        spellCheck={false}
      />
      <TextInput
        mt="sm"
        label="Only to these hosts"
        description="Names between commas. Empty: all."
        value={hosts}
        onChange={({ currentTarget }) => setHosts(currentTarget.value)}
        autoComplete="off"
        spellCheck={false}
      />
    </ConfirmDialog>
  );
}
