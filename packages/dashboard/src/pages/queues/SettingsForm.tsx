import { Group, Select, SimpleGrid, Textarea, TextInput } from "@mantine/core";
import type { Queue, QueueWithSecret } from "@tidemill/contract";
import { useState } from "react";
import { useRefresh } from "../../api/use-refresh.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { Dialog } from "../../ui/dialogs/Dialog.tsx";
import { DialogButtons } from "../../ui/dialogs/DialogButtons.tsx";
import { changesBetween, DiffDialog } from "../../ui/dialogs/DiffDialog.tsx";
import { notify } from "../../ui/notices.ts";
import { explained } from "./explain-error.ts";
import { LABELS, patchOf, problemOf, type SettingTexts, textsOf } from "./settings.ts";

export interface SettingsFormProps {
  readonly queue: Queue;
  readonly opened: boolean;
  readonly onClose: () => void;
  /** The queue has got its first secret. */
  readonly onSecret: (secret: string) => void;
}

/** The settings of a queue. Changes are shown before they are saved. */
export function SettingsForm({ queue, opened, onClose, onSecret }: SettingsFormProps) {
  const [asking, setAsking] = useState(false);
  return (
    <Dialog opened={opened} locked={asking} onClose={onClose} size="lg" title={`Settings of ${queue.name}`}>
      <Form queue={queue} onClose={onClose} onSecret={onSecret} asking={asking} setAsking={setAsking} />
    </Dialog>
  );
}

interface FormProps extends Omit<SettingsFormProps, "opened"> {
  /** Whether what would change is shown. */
  readonly asking: boolean;
  readonly setAsking: (to: boolean) => void;
}

function Form({ queue, onClose, onSecret, asking, setAsking }: FormProps) {
  const { api } = useWorkspace();
  const refresh = useRefresh("queues");
  // The record as it was when the form was opened: changes by others meanwhile stay.
  const [before] = useState(() => textsOf(queue));
  const [after, setAfter] = useState<SettingTexts>(before);
  const set = (name: keyof SettingTexts) => (value: string) => setAfter((old) => ({ ...old, [name]: value }));
  const now = textsOf(queue);
  const changed = changesBetween(before as never, after as never).map(({ name }) => name as keyof SettingTexts);
  const changes = changed.map((name) => ({ name: LABELS[name], from: now[name], to: after[name] }));
  const isWrong = changed.some((name) => problemOf(name, before, after) !== null);
  const meanwhile = changed.filter((name) => now[name] !== before[name]).map((name) => LABELS[name]);
  const save = async () => {
    const path = `/queues/${encodeURIComponent(queue.name)}`;
    const saved = await explained(() => api.patch<QueueWithSecret>(path, patchOf(before, after)));
    await refresh();
    notify({ tone: "done", text: `The settings of ${queue.name} were saved.` });
    onClose();
    if (saved.callback_secret) onSecret(saved.callback_secret);
  };
  const input = (name: keyof SettingTexts, description?: string, numeric = true) => (
    <TextInput
      label={LABELS[name]}
      description={description}
      value={after[name]}
      onChange={({ currentTarget }) => set(name)(currentTarget.value)}
      error={problemOf(name, before, after)}
      inputMode={numeric ? "numeric" : "text"}
      data-autofocus={name === "callback_url" || undefined}
      autoComplete="off"
      spellCheck={false}
    />
  );
  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setAsking(true);
        }}
      >
        {input("callback_url", "Where jobs are delivered. Empty: workers take them. A change gives failed attempts a fresh start.", false)}
        <Textarea
          mt="sm"
          label={LABELS.callback_headers}
          description="One per line: name: value. Values may contain templates like ${{ secrets.NAME }}."
          value={after.callback_headers}
          onChange={({ currentTarget }) => set("callback_headers")(currentTarget.value)}
          rows={3}
          spellCheck={false}
          autoComplete="off"
        />
        <SimpleGrid cols={2} mt="sm" spacing="sm">
          {input("callback_timeout", "1 to 900")}
          {input("attempts", "How often a job is tried before it fails")}
          {input("backoff_ms", "It doubles with each further attempt")}
          {input("concurrency", "Empty: any number")}
          {input("concurrency_per_key", "Of jobs with the same concurrencyKey")}
          <Group gap="xs" wrap="nowrap" align="end">
            {input("rate_max", "Empty: no limit")}
            {input("rate_seconds", " ")}
          </Group>
          {queue.type === "approval" && (
            <>
              {input("approval_timeout", "Empty: without end")}
              <Select
                label={LABELS.on_timeout}
                description="The decision when the time is over"
                value={after.on_timeout}
                onChange={(value) => set("on_timeout")(value ?? "reject")}
                data={["reject", "approve"]}
                allowDeselect={false}
              />
            </>
          )}
        </SimpleGrid>
        <DialogButtons action="Review changes" onCancel={onClose} disabled={changes.length === 0 || isWrong} />
      </form>
      {/* Outside of the form: the submit of a form in a dialog reaches the forms around it. */}
      <DiffDialog
        opened={asking}
        title={`Change ${changes.length === 1 ? "1 setting" : `${changes.length} settings`} of ${queue.name}?`}
        changes={changes}
        meanwhile={meanwhile}
        onClose={() => setAsking(false)}
        onSave={save}
      />
    </>
  );
}
