import { useQueryClient } from "@tanstack/react-query";
import type { Schedule } from "@tidemill/contract";
import { type FormEvent, useState } from "react";
import type { Read } from "../../api/raw-json.ts";
import { useRefresh } from "../../api/use-refresh.ts";
import { useNavigateFromHere } from "../../app/use-navigate-from-here.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { LOCAL_ZONE } from "../../time/zone.ts";
import { Dialog } from "../../ui/dialogs/Dialog.tsx";
import { DialogButtons } from "../../ui/dialogs/DialogButtons.tsx";
import { type Change, DiffDialog } from "../../ui/dialogs/DiffDialog.tsx";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { jsonProblem } from "../../ui/JsonInput.tsx";
import { notify } from "../../ui/notices.ts";
import { ScheduleFields } from "./ScheduleFields.tsx";
import { changedSettings, formOf, newForm, type ScheduleForm } from "./settings.ts";

/** Creates a schedule, or changes one: what changes is shown before it is saved. */
export function ScheduleDialog({ schedule, onClose }: { schedule?: Read<Schedule>; onClose: () => void }) {
  const { id, api } = useWorkspace();
  const client = useQueryClient();
  const refresh = useRefresh("schedules");
  const fromHere = useNavigateFromHere();
  const [before] = useState<ScheduleForm>(() => (schedule ? formOf(schedule) : newForm(LOCAL_ZONE)));
  const [form, setForm] = useState(before);
  const [reviewing, setReviewing] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const changes: Change[] = (Object.keys(form) as (keyof ScheduleForm)[]).flatMap((name) =>
    form[name] === before[name] ? [] : [{ name, from: before[name], to: form[name] }],
  );
  const save = async () => {
    const navigate = fromHere();
    const saved = schedule
      ? await api.patch<Schedule>(`/schedules/${encodeURIComponent(schedule.name)}`, changedSettings(form, before))
      : await api.post<Schedule>("/schedules", {
          queue: form.queue,
          cron: form.cron,
          timezone: form.timezone,
          ...changedSettings(form, before),
        });
    await refresh();
    notify({ tone: "done", text: schedule ? `${saved.name} is changed.` : `${saved.name} is created.` });
    onClose();
    if (schedule) return;
    // The list is loaded when it is shown the next time.
    void client.invalidateQueries({ queryKey: [id, "list", "schedules"], refetchType: "none" });
    await navigate({ to: "/w/$workspace/schedules/$schedule", params: { workspace: id, schedule: saved.name } });
  };
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (schedule) return setReviewing(true);
    setBusy(true);
    setError(null);
    try {
      await save();
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <Dialog size="lg" locked={busy || reviewing} onClose={onClose} title={schedule ? `Edit ${schedule.name}` : "Create a schedule"}>
      <form onSubmit={(event) => void submit(event)}>
        <ScheduleFields form={form} isNew={!schedule} onChange={(changed) => setForm((old) => ({ ...old, ...changed }))} />
        {error !== null && <ErrorState error={error} what="" title="The schedule was not created" />}
        <DialogButtons
          action={schedule ? "Review the changes" : "Create"}
          onCancel={onClose}
          busy={busy}
          disabled={jsonProblem(form.payload) !== null || (schedule !== undefined && changes.length === 0)}
        />
      </form>
      {/* Outside of the form: the submit of a form in a dialog reaches the forms around it. */}
      {schedule && (
        <DiffDialog
          opened={reviewing}
          title={`Change ${schedule.name}?`}
          changes={changes}
          onClose={() => setReviewing(false)}
          onSave={save}
        />
      )}
    </Dialog>
  );
}
