import { Checkbox, TextInput } from "@mantine/core";
import type { WebhookEvent } from "@tidemill/contract";
import { useState } from "react";
import { pickChanges } from "../../api/pick-changes.ts";
import { ConfirmDialog } from "../../ui/dialogs/ConfirmDialog.tsx";
import { JsonInput, jsonProblem } from "../../ui/JsonInput.tsx";
import { EVENT_TYPES, meaningOf } from "./events.ts";

/** The settings of a webhook as the form has them. */
export interface WebhookSettings {
  readonly name: string;
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  readonly headers: Readonly<Record<string, string>>;
}

interface WebhookFormProps {
  readonly opened: boolean;
  readonly title: string;
  readonly action: string;
  /** Undefined: a new webhook. */
  readonly settings?: WebhookSettings | undefined;
  readonly onClose: () => void;
  /**
   * Called with all settings of a new webhook, or with the changed settings of an existing one, so that changes by others meanwhile stay.
   */
  readonly onSave: (settings: Partial<WebhookSettings>) => Promise<unknown>;
}

/** Creates or changes a webhook. */
export function WebhookForm({ settings, ...dialog }: WebhookFormProps) {
  // A form that is opened again begins with the stored settings.
  return dialog.opened ? <Fields key="opened" settings={settings} {...dialog} /> : null;
}

function Fields({ opened, title, action, settings, onClose, onSave }: WebhookFormProps) {
  const [before] = useState(settings ? { ...settings, events: inOrder(settings.events) } : {});
  const [name, setName] = useState(settings?.name ?? "");
  const [url, setUrl] = useState(settings?.url ?? "");
  const [events, setEvents] = useState<readonly string[]>(settings?.events ?? ["job.failed", "run.failed"]);
  const headersNow = settings?.headers ?? {};
  const [headers, setHeaders] = useState(Object.keys(headersNow).length > 0 ? JSON.stringify(headersNow, null, 2) : "");
  const isComplete = name !== "" && url !== "" && events.length > 0 && jsonProblem(headers) === null;
  const changes = isComplete
    ? pickChanges<WebhookSettings>(before, { name, url, events: inOrder(events), headers: headersOf(headers) })
    : {};
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={title}
      action={action}
      onConfirm={() => onSave(changes)}
      disabled={Object.keys(changes).length === 0}
    >
      {!settings && (
        <TextInput
          label="Name"
          description="Letters, digits, dots, dashes and underscores. It cannot be changed."
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
          data-autofocus
        />
      )}
      <TextInput
        mt="sm"
        label="Address"
        description="Where events are sent. Path and query may contain ${{ secrets.NAME }}."
        value={url}
        onChange={({ currentTarget }) => setUrl(currentTarget.value)}
        autoComplete="off"
        spellCheck={false}
        data-autofocus={settings ? true : undefined}
      />
      <Checkbox.Group label="Events" value={[...events]} onChange={setEvents} mt="sm">
        {EVENT_TYPES.map((type) => (
          <Checkbox key={type} mt={6} value={type} label={type} description={meaningOf(type)} />
        ))}
      </Checkbox.Group>
      <div>
        <JsonInput
          label="Headers"
          description="JSON: names and values. Values may contain secrets."
          value={headers}
          onChange={setHeaders}
        />
      </div>
    </ConfirmDialog>
  );
}

const inOrder = (events: readonly string[]): WebhookEvent[] => EVENT_TYPES.filter((type) => events.includes(type));

const headersOf = (text: string): Record<string, string> => (text.trim() === "" ? {} : (JSON.parse(text) as Record<string, string>));
