import { Radio, TextInput } from "@mantine/core";
import type { CreateKey, Role } from "@tidemill/contract";
import { useState } from "react";
import { nowMs, toMoment } from "../../time/clock.ts";
import { ConfirmDialog } from "../../ui/dialogs/ConfirmDialog.tsx";

const DAY_MS = 86_400_000;

const ROLES: readonly (readonly [Role, string])[] = [
  ["write", "Enqueue, change settings, decide; and everything that read allows"],
  ["read", "View everything except keys and the audit log"],
  ["worker", "Take and settle jobs and runs, nothing else"],
  ["admin", "Everything, including secrets, keys and members"],
];

const EXPIRIES: readonly (readonly [string, string])[] = [
  ["", "Never"],
  ["30", "In 30 days"],
  ["90", "In 90 days"],
  ["365", "In a year"],
];

interface KeyFormProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly onCreate: (request: CreateKey) => Promise<unknown>;
}

/** Makes a key. */
export function KeyForm(props: KeyFormProps) {
  return props.opened ? <Fields key="opened" {...props} /> : null;
}

function Fields({ opened, onClose, onCreate }: KeyFormProps) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("write");
  const [queues, setQueues] = useState("");
  const [workflows, setWorkflows] = useState("");
  const [days, setDays] = useState("");
  const create = () =>
    onCreate({
      name,
      role,
      queues: role === "worker" ? namesIn(queues) : null,
      workflows: role === "worker" ? namesIn(workflows) : null,
      expires_at: days === "" ? null : toMoment(nowMs() + Number(days) * DAY_MS),
    });
  return (
    <ConfirmDialog opened={opened} onClose={onClose} title="New key" action="Create" onConfirm={create} disabled={name.trim() === ""}>
      <TextInput
        label="Name"
        description="What it is for."
        value={name}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
        autoComplete="off"
        data-autofocus
      />
      <Radio.Group mt="sm" label="Role" value={role} onChange={(value) => setRole(value as Role)}>
        {ROLES.map(([value, about]) => (
          <Radio key={value} mt={6} value={value} label={value} description={about} />
        ))}
      </Radio.Group>
      {role === "worker" && (
        <>
          <TextInput
            mt="sm"
            label="Only these queues"
            description="Names, separated by commas."
            value={queues}
            onChange={({ currentTarget }) => setQueues(currentTarget.value)}
          />
          <TextInput
            mt="sm"
            label="Only these workflows"
            description="Names, separated by commas. If both are empty: all queues and workflows."
            value={workflows}
            onChange={({ currentTarget }) => setWorkflows(currentTarget.value)}
          />
        </>
      )}
      <Radio.Group mt="sm" label="Expires" value={days} onChange={setDays}>
        {EXPIRIES.map(([value, label]) => (
          <Radio key={value} mt={6} value={value} label={label} />
        ))}
      </Radio.Group>
    </ConfirmDialog>
  );
}

/** Names between commas or spaces. Null for none. */
const namesIn = (text: string): string[] | null => {
  const names = text.split(/[\s,]+/).filter((name) => name !== "");
  return names.length > 0 ? [...new Set(names)] : null;
};
