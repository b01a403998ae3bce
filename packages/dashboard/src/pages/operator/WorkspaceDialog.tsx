import { Checkbox, NumberInput, Select, TextInput } from "@mantine/core";
import type { CreatedWorkspace, Workspace } from "@tidemill/contract";
import { useState } from "react";
import { operator } from "../../api/api.ts";
import { pickChanges } from "../../api/pick-changes.ts";
import { Dialog } from "../../ui/dialogs/Dialog.tsx";
import { DialogButtons } from "../../ui/dialogs/DialogButtons.tsx";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { notify } from "../../ui/notices.ts";
import { useSubmit } from "../../ui/use-submit.ts";

const PLANS = ["free", "pro", "team", "enterprise"];
const LIMITS = [
  ["executions_per_month", "Executions a month", 0],
  ["requests_per_minute", "Requests a minute", 1],
  ["retention_days", "Days that history is kept", 1],
] as const;

interface WorkspaceDialogProps {
  /** Null: a new one. */
  readonly workspace: Workspace | null;
  readonly onClose: () => void;
  /** Called with the workspace if it is new. */
  readonly onSaved: (made: CreatedWorkspace | null) => void;
}

const NO_LIMITS = { executions_per_month: null, requests_per_minute: null, retention_days: null };

/** Creates a workspace, or changes its name, plan and limits. An empty field means no limit. */
export function WorkspaceDialog({ workspace, onClose, onSaved }: WorkspaceDialogProps) {
  const [name, setName] = useState(workspace?.name ?? "");
  const [plan, setPlan] = useState<string>(workspace?.plan ?? "free");
  const [limits, setLimits] = useState<Workspace["limits"]>(workspace?.limits ?? NO_LIMITS);
  const [hasOwn, setHasOwn] = useState(workspace !== null);
  const own = hasOwn && { limits };
  const changes = workspace && changesOf(workspace, { name, plan, ...own });
  const { busy, error, onSubmit } = useSubmit(async () => {
    if (!workspace) return onSaved(await operator.post<CreatedWorkspace>("/workspaces", { name, plan, ...own }));
    await operator.patch(`/workspaces/${workspace.id}`, changes);
    notify({ tone: "done", text: `${name} is changed` });
    onSaved(null);
  });
  return (
    <Dialog locked={busy} onClose={onClose} title={workspace ? `Change ${workspace.name}` : "New workspace"}>
      <form onSubmit={onSubmit}>
        <TextInput
          label="Name"
          maxLength={128}
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
          required
          data-autofocus
          mb="sm"
        />
        <Select
          label="Plan"
          data={PLANS}
          value={plan}
          onChange={(value) => {
            setPlan(value ?? plan);
            setHasOwn(value === workspace?.plan);
          }}
          allowDeselect={false}
          mb="sm"
        />
        <Checkbox
          label="The limits of the plan"
          checked={!hasOwn}
          onChange={({ currentTarget }) => setHasOwn(!currentTarget.checked)}
          mb="sm"
        />
        {hasOwn &&
          LIMITS.map(([field, label, min]) => (
            <NumberInput
              key={field}
              label={label}
              description="Empty: no limit."
              min={min}
              allowDecimal={false}
              allowNegative={false}
              thousandSeparator=","
              value={limits[field] ?? ""}
              onChange={(value) => setLimits({ ...limits, [field]: value === "" ? null : Number(value) })}
              mb="sm"
            />
          ))}
        {error !== null && <ErrorState error={error} what="" title="Not saved" />}
        <DialogButtons
          action={workspace ? "Save" : "Create the workspace"}
          onCancel={onClose}
          busy={busy}
          disabled={changes !== null && Object.keys(changes).length === 0}
        />
      </form>
    </Dialog>
  );
}

interface WorkspaceSettings {
  readonly name: string;
  readonly plan: string;
  /** Left out: those of the plan. */
  readonly limits?: Workspace["limits"];
}

/** Only the fields that differ, so that changes by others meanwhile stay. */
function changesOf(before: Workspace, { name, plan, limits }: WorkspaceSettings): object {
  const renamed = pickChanges({ name: before.name }, { name });
  // A plan in the request resets the limits to those of that plan, even if it is the current one.
  if (!limits || plan !== before.plan) return { ...renamed, plan, ...(limits && { limits }) };
  const changed = pickChanges(before.limits, limits);
  return { ...renamed, ...(Object.keys(changed).length > 0 && { limits: changed }) };
}
