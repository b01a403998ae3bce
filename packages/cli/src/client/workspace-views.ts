import { ChangesQuery, ListAuditEvents, ListDeploys, MetricsQuery, UsageQuery } from "@tidemill/contract";
import type { Command } from "commander";
import { printFields, printJson, printTable, writeLine } from "../output/table.ts";
import { onService } from "./command.ts";
import { addFields, readFields } from "./fields.ts";
import { printList, withLimit } from "./listing.ts";

const PAGING = ["limit", "cursor"];

/** Commands that show the workspace as a whole. */
export function addWorkspaceViews(program: Command): void {
  onService(program.command("status").description("Show the health of the workspace and its counts"), async (tidemill, { options }) => {
    const status = await tidemill.status();
    if (options.json) return printJson(status);
    const { checks, ...rest } = status;
    printFields(rest, false);
    writeLine("");
    printTable(checks, ["name", "status", "message"]);
  });

  onService(
    addFields(program.command("usage").description("Show the executions and attempts of a month"), UsageQuery),
    async (tidemill, { options }) => {
      const usage = await tidemill.usage(readFields<UsageQuery>(UsageQuery, options));
      if (options.json) return printJson(usage);
      const { by_queue, by_day, ...total } = usage;
      printFields(total, false);
      for (const [name, rows] of [
        ["queue", by_queue],
        ["day", by_day],
      ] as const) {
        writeLine("");
        printTable(
          rows.map(({ attempts: { succeeded, failed }, ...row }) => ({ ...row, succeeded, failed })),
          [name, "executions", "succeeded", "failed"],
        );
      }
    },
  );

  onService(
    addFields(program.command("metrics").description("Show what happened over time, in one queue or in all of them"), MetricsQuery),
    async (tidemill, { options }) => {
      const metrics = await tidemill.metrics(readFields<MetricsQuery>(MetricsQuery, options));
      if (options.json) return printJson(metrics);
      printTable(
        metrics.data.map(({ latency_ms: { p50, p99 }, oldest_waiting_seconds, ...step }) => ({
          ...step,
          p50_ms: p50,
          p99_ms: p99,
          oldest_waiting_seconds,
        })),
        ["at", "enqueued", "completed", "failed", "retried", "p50_ms", "p99_ms", "oldest_waiting_seconds"],
      );
    },
  );

  onService(
    addFields(program.command("changes").description("List what changed: deploys, circuits, pauses and settings"), ChangesQuery),
    async (tidemill, { options }) => {
      const changes = await tidemill.changes(readFields<ChangesQuery>(ChangesQuery, options));
      if (options.json) return printJson(changes);
      printTable(changes.data, ["at", "type", "name", "version", "settings", "actor_id"]);
    },
  );

  const deploy = program.command("deploy").description("Deploys of your services, which charts show");
  onService(
    deploy.command("mark").argument("<name>", "What was deployed").argument("<version>", "Its version").description("Mark a deploy"),
    async (tidemill, { args: [name = "", version = ""], options }) =>
      printFields(await tidemill.deploys.mark({ name, version }), options.json),
  );
  onService<{ limit: number }>(
    addFields(withLimit(deploy.command("list").description("List deploys, newest first")), ListDeploys, PAGING),
    (tidemill, { options }) => {
      const filter = readFields<ListDeploys>(ListDeploys, options, PAGING);
      return printList((limit) => tidemill.deploys.list({ ...filter, limit }), ["created_at", "name", "version", "actor_id"], options);
    },
  );

  const worker = program.command("worker").description("Workers, which ask for jobs");
  onService<{ limit: number }>(
    withLimit(worker.command("list").description("List workers that called in the last 15 minutes")),
    (tidemill, { options }) =>
      printList(
        (limit) => tidemill.workers.list({ limit }),
        ["name", "version", "queues", "workflows", "in_flight", "last_seen_at"],
        options,
      ),
  );
}

/** The audit log. Operators also have `audit verify`. */
export function addAuditList(audit: Command): void {
  onService<{ limit: number }>(
    addFields(withLimit(audit.command("list").description("List audit events of the workspace, newest first")), ListAuditEvents, PAGING),
    (tidemill, { options }) => {
      const filter = readFields<ListAuditEvents>(ListAuditEvents, options, PAGING);
      const columns = ["occurred_at", "event_type", "actor_id", "resource_type", "resource_id", "input", "output"];
      return printList((limit) => tidemill.auditEvents.list({ ...filter, limit }), columns, options);
    },
  );
}
