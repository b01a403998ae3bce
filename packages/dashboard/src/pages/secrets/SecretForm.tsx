import { Checkbox, PasswordInput, TextInput } from "@mantine/core";
import type { Secret } from "@tidemill/contract";
import { useState } from "react";
import { pickChanges } from "../../api/pick-changes.ts";
import { useRefresh } from "../../api/use-refresh.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { ConfirmDialog } from "../../ui/dialogs/ConfirmDialog.tsx";
import { notify } from "../../ui/notices.ts";
import { fieldOf, type LimitField, limitOf } from "./limits.ts";

interface SecretFormProps {
  readonly opened: boolean;
  /** Undefined: a new secret. */
  readonly secret?: Secret | undefined;
  readonly onClose: () => void;
  readonly onDone?: () => void;
}

/** Stores a secret, or changes its value and where it may be used. */
export function SecretForm(props: SecretFormProps) {
  // The typed text is dropped when the dialog closes.
  return props.opened ? <Fields key="opened" {...props} /> : null;
}

function Fields({ opened, secret, onClose, onDone }: SecretFormProps) {
  const { api } = useWorkspace();
  const refresh = useRefresh("secrets");
  const [name, setName] = useState(secret?.name ?? "");
  const [value, setValue] = useState("");
  // The record as it was when the form was opened: changes by others meanwhile stay.
  const [before] = useState({ queues: fieldOf(secret?.allowed_queues ?? null), hosts: fieldOf(secret?.allowed_hosts ?? null) });
  const [queues, setQueues] = useState(before.queues);
  const [hosts, setHosts] = useState(before.hosts);
  const limits = pickChanges(limitsOf(before), limitsOf({ queues, hosts }));
  const changes = { ...(value !== "" && { value }), ...limits };
  const save = async () => {
    if (secret) await api.patch(`/secrets/${secret.name}`, changes);
    else await api.post("/secrets", { name, ...changes });
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
      disabled={secret ? Object.keys(changes).length === 0 : name === "" || value === ""}
    >
      {!secret && (
        <TextInput
          label="Name"
          description="Capital letters, digits and underscores, for example STRIPE_KEY."
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
      <Limit all="All queues, workflows and webhooks" only="Only for these queues" field={queues} onChange={setQueues} />
      <Limit all="All hosts" only="Only to these hosts" field={hosts} onChange={setHosts} />
    </ConfirmDialog>
  );
}

interface LimitProps {
  /** What is allowed without a limit. */
  readonly all: string;
  readonly only: string;
  readonly field: LimitField;
  readonly onChange: (field: LimitField) => void;
}

function Limit({ all, only, field, onChange }: LimitProps) {
  return (
    <>
      <Checkbox
        mt="sm"
        label={all}
        checked={field.all}
        onChange={({ currentTarget }) => onChange({ ...field, all: currentTarget.checked })}
      />
      {!field.all && (
        <TextInput
          mt="xs"
          label={only}
          description="Names, separated by commas. Empty: none."
          value={field.names}
          onChange={({ currentTarget }) => onChange({ ...field, names: currentTarget.value })}
          autoComplete="off"
          spellCheck={false}
        />
      )}
    </>
  );
}

const limitsOf = ({ queues, hosts }: Readonly<Record<"queues" | "hosts", LimitField>>) => ({
  allowed_queues: limitOf(queues),
  allowed_hosts: limitOf(hosts),
});
