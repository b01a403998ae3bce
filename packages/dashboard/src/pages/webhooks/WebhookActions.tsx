import { Button, Menu } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import type { Delivery, Webhook, WebhookEvent, WebhookWithSecret } from "@tidemill/contract";
import { useState } from "react";
import { useRefresh } from "../../api/use-refresh.ts";
import { useNavigateFromHere } from "../../app/use-navigate-from-here.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { ConfirmDialog } from "../../ui/dialogs/ConfirmDialog.tsx";
import { SecretOnce } from "../../ui/dialogs/SecretOnce.tsx";
import { Icon } from "../../ui/Icon.tsx";
import { notify, notifyFailure } from "../../ui/notices.ts";
import { RequestButton } from "../../ui/RequestButton.tsx";
import { WebhookForm } from "./WebhookForm.tsx";

type Asked = "edit" | "rotate" | "disable" | "delete";

/** Send a test, edit, rotate the secret, switch off and on, delete. */
export function WebhookActions({ webhook }: { webhook: Webhook }) {
  const { id, api, may } = useWorkspace();
  const client = useQueryClient();
  const refresh = useRefresh("webhooks");
  const fromHere = useNavigateFromHere();
  const [asked, setAsked] = useState<Asked | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  if (!may("write")) return null;
  const { name, enabled } = webhook;
  const path = `/webhooks/${encodeURIComponent(name)}`;
  const close = () => setAsked(null);
  const change = async (changes: object, done: string) => {
    const { secret: made = null } = await api.patch<WebhookWithSecret>(path, changes);
    await refresh();
    setSecret(made);
    if (!made) notify({ tone: "done", text: done });
  };
  const test = async () => {
    const navigate = fromHere();
    try {
      const delivery = await api.post<Delivery>(`${path}/test`);
      await refresh();
      await navigate({
        to: "/w/$workspace/webhooks/$webhook/deliveries/$delivery",
        params: { workspace: id, webhook: name, delivery: delivery.id },
      });
      notify({ tone: "done", text: "A test event is sent." });
    } catch (error) {
      notifyFailure("No test was sent", error);
    }
  };
  const switchOn = () =>
    change({ enabled: true }, "The webhook is on.").catch((error: unknown) => notifyFailure("It stays switched off", error));
  const remove = async () => {
    const navigate = fromHere();
    await api.delete(path);
    client.removeQueries({ queryKey: [id, "list", "webhooks"] });
    client.removeQueries({ queryKey: [id, "webhooks"] });
    await navigate({ to: "/w/$workspace/webhooks", params: { workspace: id } });
  };
  return (
    <>
      {!enabled && (
        <RequestButton variant="filled" leftSection={<Icon name="play" size={14} />} onRequest={switchOn}>
          Switch on
        </RequestButton>
      )}
      <RequestButton onRequest={test}>Send a test event</RequestButton>
      <Button onClick={() => setAsked("edit")}>Edit</Button>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button rightSection={<Icon name="chevronDown" size={12} />}>More</Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => setAsked("rotate")}>Rotate the secret</Menu.Item>
          {enabled && <Menu.Item onClick={() => setAsked("disable")}>Switch off</Menu.Item>}
          <Menu.Item onClick={() => setAsked("delete")}>Delete</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <WebhookForm
        opened={asked === "edit"}
        title={`Edit ${name}`}
        action="Save"
        settings={{ ...webhook, events: webhook.events as WebhookEvent[] }}
        onClose={close}
        onSave={(changes) => change(changes, "Saved.")}
      />
      <ConfirmDialog
        opened={asked === "rotate"}
        onClose={close}
        title="Rotate the secret?"
        action="Rotate"
        onConfirm={() => change({ rotate_secret: true }, "")}
      >
        A new secret is shown once. For 24 hours, events are signed with both the new and the old one, so that your endpoint can switch in
        that time.
      </ConfirmDialog>
      <ConfirmDialog
        opened={asked === "disable"}
        onClose={close}
        title={`Switch ${name} off?`}
        action="Switch off"
        danger
        onConfirm={() => change({ enabled: false }, "The webhook is switched off.")}
      >
        It gets no events until it is switched on again. Its pending deliveries are cancelled.
      </ConfirmDialog>
      <ConfirmDialog opened={asked === "delete"} onClose={close} title={`Delete ${name}?`} action="Delete" danger onConfirm={remove}>
        Its deliveries are deleted, and those that are pending end.
      </ConfirmDialog>
      <SecretOnce
        secret={secret}
        title="The new secret of the webhook"
        about="Your endpoint needs it to verify events."
        onClose={() => setSecret(null)}
      />
    </>
  );
}
