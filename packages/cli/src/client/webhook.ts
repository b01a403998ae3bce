import { CreateWebhook, ListDeliveries, PatchWebhook } from "@tidemill/contract";
import type { Command } from "commander";
import { printFields, printRecord } from "../output/table.ts";
import { askFirst, YES } from "../prompt/ask-first.ts";
import { onService } from "./command.ts";
import { addFields, readFields } from "./fields.ts";
import { printList, withLimit } from "./listing.ts";
import { rowWithError } from "./row-with-error.ts";

const NAME = ["<webhook>", "Name of the webhook"] as const;
const COLUMNS = ["name", "url", "events", "enabled", "failing_since", "last_success_at"];
const PAGING = ["limit", "cursor"];
const DELIVERY_COLUMNS = ["id", "type", "state", "attempts", "response_status", "error", "next_attempt_at", "created_at"];

export function addWebhookCommands(program: Command): void {
  const webhook = program.command("webhook").description("Webhooks, which get events of the workspace");

  onService<{ limit: number }>(withLimit(webhook.command("list").description("List webhooks, newest first")), (tidemill, { options }) =>
    printList((limit) => tidemill.webhooks.list({ limit }), COLUMNS, options),
  );

  onService(
    webhook
      .command("get")
      .description("Show a webhook, and whether it works")
      .argument(...NAME),
    async (tidemill, { args: [name = ""], options }) => printFields(await tidemill.webhooks.get(name), options.json),
  );

  onService(
    addFields(
      webhook
        .command("create")
        .description("Create a webhook. Its secret is only shown this once")
        .argument(...NAME)
        .argument("<address>", "Where its events are sent"),
      CreateWebhook,
      ["name", "url"],
    ),
    async (tidemill, { args: [name = "", url = ""], options }) => {
      const fields = readFields<CreateWebhook>(CreateWebhook, options, ["name", "url"]);
      printFields(await tidemill.webhooks.create({ ...fields, name, url }), options.json);
    },
  );

  // The option is not called --url, which is the address of the service.
  onService<{ address?: string }>(
    addFields(
      webhook
        .command("update")
        .description("Change settings of a webhook")
        .argument(...NAME)
        .option("--address <text>", "Where its events are sent"),
      PatchWebhook,
      ["enabled", "url"],
    ),
    async (tidemill, { args: [name = ""], options }) => {
      const { address: url } = options;
      const changes = readFields<PatchWebhook>(PatchWebhook, options, ["enabled", "url"]);
      printFields(await tidemill.webhooks.update(name, { ...changes, ...(url !== undefined && { url }) }), options.json);
    },
  );

  for (const [verb, enabled, about] of [
    ["enable", true, "Switch a webhook on again"],
    ["disable", false, "Switch a webhook off. Its pending deliveries are cancelled"],
  ] as const) {
    onService(
      webhook
        .command(verb)
        .description(about)
        .argument(...NAME),
      async (tidemill, { args: [name = ""], options }) => printFields(await tidemill.webhooks.update(name, { enabled }), options.json),
    );
  }

  onService<{ yes?: boolean }>(
    webhook
      .command("delete")
      .description("Delete a webhook with its deliveries")
      .argument(...NAME)
      .option(...YES),
    async (tidemill, { args: [name = ""], options }) => {
      await askFirst(`Delete the webhook ${name}?`, options);
      await tidemill.webhooks.delete(name);
      printRecord({ webhook: name, deleted: true }, options.json);
    },
  );

  addDeliveryCommands(webhook);
}

function addDeliveryCommands(webhook: Command): void {
  onService(
    webhook
      .command("test")
      .description("Send a test event to a webhook")
      .argument(...NAME),
    async (tidemill, { args: [name = ""], options }) => printFields(await tidemill.webhooks.test(name), options.json),
  );

  onService<{ limit: number }>(
    addFields(
      withLimit(
        webhook
          .command("deliveries")
          .description("List deliveries of a webhook, newest first")
          .argument(...NAME),
      ),
      ListDeliveries,
      PAGING,
    ),
    (tidemill, { args: [name = ""], options }) => {
      const filter = readFields<ListDeliveries>(ListDeliveries, options, PAGING);
      return printList((limit) => tidemill.webhooks.deliveries(name, { ...filter, limit }), DELIVERY_COLUMNS, options, rowWithError);
    },
  );

  onService(
    webhook
      .command("replay")
      .description("Deliver the event of a delivery again")
      .argument(...NAME)
      .argument("<delivery>", "Id of the delivery, whd_…"),
    async (tidemill, { args: [name = "", delivery = ""], options }) =>
      printFields(await tidemill.webhooks.replay(name, delivery), options.json),
  );
}
