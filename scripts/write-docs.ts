import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { ERRORS, PLAN_NAMES, PLANS, planHas } from "@tidemill/contract";
import { SETTINGS } from "@tidemill/server";
import { EXIT_CODES } from "../packages/cli/src/exit-code.ts";
import { createProgram } from "../packages/cli/src/program.ts";
import { HTTP_ERRORS } from "../packages/server/src/http/count-errors.ts";
import { JOB_MOVES } from "../packages/server/src/jobs/job.ts";
import { EVENTS, type EventMetric, type FieldKind } from "../packages/server/src/kernel/event-catalogue.ts";
import { LOOP_DELAY } from "../packages/server/src/kernel/loop-delay.ts";
import { SHARE_GAUGES } from "../packages/server/src/kernel/shares/observe.ts";
import { SERVICE_GAUGES } from "../packages/server/src/metrics/observe-service.ts";
import { commandsPage } from "./commands-page.ts";
import { figures, filesWithFigures, writeFigures } from "./figures.ts";
import { importOrder, importRules } from "./import-rules.ts";
import { code, table } from "./markdown.ts";
import { withMigratedDatabase } from "./migrated-database.ts";
import { readComments } from "./migration-comments.ts";
import { brokenReferences } from "./page-links.ts";
import { readMigrations } from "./read-migrations.ts";
import { runProtocolSchema } from "./run-protocol-schema.ts";
import { schemaPage } from "./schema-page.ts";
import { EXCEPTIONS, TABLES } from "./table-owners.ts";

/**
 * Writes what is generated from the code: whole files, parts of the docs between `<!-- written: NAME -->` and `<!-- end -->`, and figures in
 * their prose. With `--check` it writes nothing, and fails where a file is not what the code says, or a page names a file that does not exist.
 */

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** A default as text. A directory is shown relative to the working directory. */
function showDefault(fallback: unknown): string {
  if (fallback === null || (Array.isArray(fallback) && fallback.length === 0)) return "";
  const text = String(fallback);
  return code(path.isAbsolute(text) ? path.relative(process.cwd(), text) : text);
}

function settings(): string {
  const rows = Object.values(SETTINGS).map(({ names, fallback, about }) => [names.map(code).join(" or "), showDefault(fallback), about]);
  return table(["variable", "default", "meaning"], rows);
}

function errors(): string {
  const rows = Object.entries(ERRORS).map(([name, { status, message }]) => [code(name), String(status), message]);
  return table(["code", "status", "message"], rows);
}

function plans(): string {
  const rows = PLAN_NAMES.map((plan) => {
    const { price, limits } = PLANS[plan];
    const { executions_per_month, requests_per_minute, retention_days } = limits;
    const [executions, requests] = [executions_per_month, requests_per_minute].map((limit) => limit?.toLocaleString("en") ?? "no limit");
    const cost = price === null ? "agreed" : `${price} USD`;
    return [code(plan), cost, executions ?? "", requests ?? "", `${retention_days} days`, planHas(plan, "callback_url") ? "yes" : "no"];
  });
  return table(["plan", "per month", "executions per month", "requests per minute", "history", "callbacks"], rows);
}

function jobStates(): string {
  const moves = Object.entries(JOB_MOVES).flatMap(([move, { from, to }]) =>
    from.map((state) => `  ${state ?? "[*]"} --> ${to ?? "[*]"}: ${move}`),
  );
  return ["```mermaid", "stateDiagram-v2", ...moves, "```"].join("\n");
}

/** A field's name, with its possible values if they are listed, and whether it is optional. */
function showField([name, kind]: [string, FieldKind]): string {
  if (Array.isArray(kind)) return `${code(name)} (${kind.map(code).join(", ")})`;
  return String(kind).endsWith("?") ? `${code(name)} (optional)` : code(name);
}

function events(): string {
  const rows = Object.entries(EVENTS).map(([name, { severity, meaning, fields }]) => [
    code(name),
    severity,
    meaning,
    Object.entries<FieldKind>(fields).map(showField).join(", "),
  ]);
  return table(["event", "severity", "meaning", "fields"], rows);
}

function metrics(): string {
  const rows = Object.entries(EVENTS).flatMap(([event, { metrics, fields }]) =>
    metrics.map((metric: EventMetric) => {
      const labels = metric.type === "counter" ? (metric.labels ?? []) : [];
      const kinds: Record<string, FieldKind> = fields;
      const values = labels.map((label) => showField([label, kinds[label] as FieldKind]));
      return [code(metric.name), metric.type, metric.help, values.join(", "), code(event)];
    }),
  );
  const quantiles = `${code("quantile")} (${LOOP_DELAY.quantiles.map(String).map(code).join(", ")})`;
  const ofService = Object.values(SERVICE_GAUGES).map(({ name, help, labels }) => [
    code(name),
    "gauge",
    help,
    Object.entries(labels)
      .map(([label, values]: [string, readonly string[]]) => `${code(label)} (${values.map(code).join(", ")})`)
      .join(", "),
    "",
  ]);
  const ofNode = [
    [code(HTTP_ERRORS.name), "counter", HTTP_ERRORS.help, HTTP_ERRORS.labels.map(code).join(", "), ""],
    [code(LOOP_DELAY.name), "gauge", LOOP_DELAY.help, quantiles, ""],
    ...Object.values(SHARE_GAUGES).map(({ name, help, labels }) => [code(name), "gauge", help, labels.map(code).join(", "), ""]),
  ];
  return table(["metric", "type", "meaning", "labels", "event"], [...ofService, ...rows, ...ofNode]);
}

function tables(): string {
  const rows = Object.entries(TABLES).map(([name, { owner, holds }]) => [code(name), holds, code(owner)]);
  return table(["table", "holds", "owner"], rows);
}

function exceptions(): string {
  const rows = EXCEPTIONS.map(({ file, writes, reason }) => [
    code(file),
    writes.map((name) => `${code(name)} (${TABLES[name]?.owner})`).join(", "),
    reason,
  ]);
  return table(["statements in", "also write", "because"], rows);
}

function exitCodes(): string {
  return table(
    ["code", "meaning"],
    Object.values(EXIT_CODES).map(({ code: number, means }) => [code(String(number)), means]),
  );
}

const folders = (await readdir(path.join(ROOT, "packages/server/src"), { withFileTypes: true }))
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

const PARTS = [
  { file: "README.md", name: "settings", write: settings },
  { file: "docs/api.md", name: "errors", write: errors },
  { file: "docs/tenants.md", name: "plans", write: plans },
  { file: "docs/architecture.md", name: "import order", write: () => importOrder(folders) },
  { file: "docs/architecture.md", name: "job states", write: jobStates },
  { file: "docs/architecture.md", name: "tables", write: tables },
  { file: "docs/sql.md", name: "exceptions", write: exceptions },
  { file: "docs/cli.md", name: "exit codes", write: exitCodes },
  { file: "docs/cli.md", name: "commands", write: () => commandsPage(createProgram()) },
  { file: "docs/operations.md", name: "metrics", write: metrics },
  { file: "docs/operations.md", name: "events", write: events },
];

const FILES = [
  { file: "lint/import-rules.jsonc", write: importRules },
  { file: "packages/contract/vectors/run-protocol.schema.json", write: runProtocolSchema },
];

const checks = process.argv.includes("--check");
let stale = 0;

async function update(file: string, what: string, text: string, fresh: string): Promise<void> {
  if (fresh === text) return;
  stale += 1;
  if (checks) process.stderr.write(`${what} is out of date. Run: npm run docs\n`);
  else {
    await writeFile(path.join(ROOT, file), fresh);
    process.stdout.write(`Wrote ${what}.\n`);
  }
}

for (const { file, name, write } of PARTS) {
  const text = await readFile(path.join(ROOT, file), "utf8");
  const [before, rest] = text.split(`<!-- written: ${name} -->\n`);
  const end = rest?.indexOf("<!-- end -->") ?? -1;
  if (before === undefined || rest === undefined || end < 0)
    throw new Error(`${file} has no part "${name}" between <!-- written: ${name} --> and <!-- end -->.`);
  const fresh = `${before}<!-- written: ${name} -->\n\n${write()}\n\n${rest.slice(end)}`;
  await update(file, `${file}: the part "${name}"`, text, fresh);
}
const quoted = await figures();
for (const file of filesWithFigures(quoted)) {
  const text = await readFile(path.join(ROOT, file), "utf8");
  await update(file, `a figure of ${file}`, text, writeFigures(file, text, quoted));
}
for (const { file, write } of FILES) await update(file, file, await readFile(path.join(ROOT, file), "utf8"), write());
// This page needs a database. `--check` skips it: packages/server/test/kernel/schema-page.test.ts compares it with a test's database.
if (!checks) {
  const file = "docs/schema.md";
  const comments = readComments(await readMigrations());
  await update(
    file,
    file,
    await readFile(path.join(ROOT, file), "utf8"),
    await withMigratedDatabase((query) => schemaPage(query, comments)),
  );
}
const pages = (await readdir(path.join(ROOT, "docs"), { recursive: true }))
  .filter((name) => name.endsWith(".md"))
  .map((name) => `docs/${name}`);
const broken = (
  await Promise.all(
    ["README.md", "packages/sdk/README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md", ...pages].map((page) =>
      brokenReferences(ROOT, page),
    ),
  )
).flat();
for (const message of broken) process.stderr.write(`${message}\n`);
if ((checks && stale > 0) || broken.length > 0) process.exit(1);
