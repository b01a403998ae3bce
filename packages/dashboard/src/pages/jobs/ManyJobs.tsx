import { Button, Menu } from "@mantine/core";
import type { JobCount, Operation, OperationAction } from "@tidemill/contract";
import { useRef, useState } from "react";
import { useFilters } from "../../app/use-filters.ts";
import { useHere } from "../../app/use-navigate-from-here.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { ConfirmDialog } from "../../ui/dialogs/ConfirmDialog.tsx";
import { Icon } from "../../ui/Icon.tsx";
import type { Selection } from "../../ui/list/selection.ts";
import { notifyFailure } from "../../ui/notices.ts";
import { MANY, statesFor } from "./actions.ts";

interface Asked {
  readonly action: OperationAction;
  readonly count: JobCount;
  readonly body: { readonly ids: readonly string[] } | { readonly filter: Readonly<Record<string, string>> };
}

export interface ManyJobsProps {
  /** The filter of the list, for all jobs that match it. */
  readonly filter: Readonly<Record<string, string>>;
  readonly selection: Selection;
}

/** Retries, cancels or removes the selected jobs, or all that match the filters. It counts them first, and shows the progress. */
export function ManyJobs({ filter, selection }: ManyJobsProps) {
  const { api, name } = useWorkspace();
  const { set } = useFilters("operation");
  const here = useHere();
  const [asked, setAsked] = useState<Asked | null>(null);
  const counting = useRef<AbortController | null>(null);
  const selected = [...selection.ids];
  const ask = async (action: OperationAction) => {
    // The count of an earlier choice must not change the current question.
    counting.current?.abort();
    counting.current = new AbortController();
    const { signal } = counting.current;
    const states = statesFor(action, filter.state);
    if (selected.length > 0) return setAsked({ action, count: { count: selected.length, exact: true }, body: { ids: selected } });
    const narrowed = { ...filter, state: states.join() };
    try {
      const count = states.length > 0 ? await api.get<JobCount>("/jobs/count", { query: narrowed, signal }) : { count: 0, exact: true };
      if (!signal.aborted) setAsked({ action, count, body: { filter: narrowed } });
    } catch (error) {
      if (!signal.aborted) notifyFailure("The jobs could not be counted", error);
    }
  };
  const start = async () => {
    if (!asked) return;
    const isHere = here();
    const operation = await api.post<Operation>(`/jobs/${asked.action}`, asked.body);
    selection.clear();
    if (isHere()) set("operation", operation.id);
  };
  const which = selected.length > 0 ? `${selected.length} selected` : "All that match";
  const what = asked && MANY[asked.action];
  return (
    <>
      {selected.length > 0 && (
        <Button variant="subtle" onClick={selection.clear}>
          Clear the selection
        </Button>
      )}
      <Menu position="bottom-end">
        <Menu.Target>
          <Button rightSection={<Icon name="chevronDown" size={12} />}>{which}</Button>
        </Menu.Target>
        <Menu.Dropdown>
          {(["retry", "cancel", "remove"] as const).map((action) => (
            <Menu.Item key={action} onClick={() => void ask(action)}>
              {MANY[action].verb}…
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {asked && what && (
        <ConfirmDialog
          key={asked.action}
          opened
          onClose={() => setAsked(null)}
          title={`${what.verb} ${countText(asked.count)}?`}
          action={what.verb}
          count={asked.count.exact ? asked.count.count : Number.POSITIVE_INFINITY}
          name={name}
          danger={asked.action !== "retry"}
          disabled={asked.count.count === 0}
          onConfirm={start}
        >
          {what.consequence} {selected.length > 0 ? "Selected jobs in other states stay as they are." : ""}
        </ConfirmDialog>
      )}
    </>
  );
}

const countText = ({ count, exact }: JobCount): string =>
  `${exact ? "" : "at least "}${count.toLocaleString("en")} ${count === 1 ? "job" : "jobs"}`;
