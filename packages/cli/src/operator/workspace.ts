import { CreateWorkspace, type OwnLimits, PatchWorkspace, PLAN_NAMES, type Workspace } from "@tidemill/contract";
import {
  createWorkspace,
  deleteWorkspace,
  emptyWorkspace,
  findWorkspace,
  listAcrossWorkspaces,
  patchWorkspace,
  readWorkspaceId,
  showWorkspace,
  type WorkspaceId,
  workspaceNotFound,
} from "@tidemill/server";
import type { Static } from "typebox";
import { Value } from "typebox/value";
import { printJson, printRecord, printTable } from "../output/table.ts";
import { confirm } from "../prompt/confirm.ts";
import { notifyNodes } from "./notify-nodes.ts";
import { readAllPages } from "./read-pages.ts";
import { withDatabase } from "./with-database.ts";

/** A limit on the command line; "none" means null. */
type Limit = number | "none";

interface TermOptions {
  readonly plan?: string;
  readonly executions?: Limit;
  readonly requestsPerMinute?: Limit;
  readonly retentionDays?: Limit;
  readonly json?: boolean;
}

/** What each field of a workspace has to be. */
const TERMS: readonly [path: string, rule: string][] = [
  ["/name", "The name must have 1 to 128 characters, and no control characters"],
  ["/plan", `--plan must be one of ${PLAN_NAMES.join(", ")}`],
  ["/limits/executions_per_month", '--executions must be a whole number from 0, or "none"'],
  ["/limits/requests_per_minute", '--requests-per-minute must be a whole number from 1, or "none"'],
  ["/limits/retention_days", '--retention-days must be a whole number from 1 to 36500, or "none"'],
];

/** @throws an error for the operator that says which option is wrong */
function checkTerms<Schema extends typeof CreateWorkspace | typeof PatchWorkspace>(
  schema: Schema,
  request: unknown,
): asserts request is Static<Schema> {
  if (Value.Check(schema, request)) return;
  const paths = Value.Errors(schema, request).map(({ instancePath }) => instancePath);
  const rules = TERMS.flatMap(([path, rule]) => (paths.includes(path) ? [rule] : []));
  throw new Error(`${rules.join(". ") || "The workspace is not valid"}.`);
}

/** `tidemill workspace list`: lists all workspaces, newest first. */
export const listWorkspacesCommand = ({ json }: { json?: boolean }): Promise<void> =>
  withDatabase(async ({ api }) => {
    const workspaces = (await readAllPages((before: WorkspaceId | null, limit) => listAcrossWorkspaces(api, before, limit))).map(
      showWorkspace,
    );
    if (json) printJson(workspaces);
    else printTable(workspaces.map(flat), COLUMNS);
  });

/** `tidemill workspace create`: creates a workspace and its first key. */
export async function createWorkspaceCommand(name: string, { plan, json, ...options }: TermOptions): Promise<void> {
  const request = { name, plan, limits: limitsIn(options) };
  checkTerms(CreateWorkspace, request);
  await withDatabase(async ({ api }, adminContext) => {
    const created = await createWorkspace(api, adminContext, request);
    const { key, ...workspace } = created;
    printRecord(json ? created : { ...flat(workspace), key }, json);
  });
}

/** `tidemill workspace update`: changes the name, plan or limits that the options give. */
export async function updateWorkspaceCommand(
  workspace: string,
  { name, plan, json, ...options }: TermOptions & { readonly name?: string },
): Promise<void> {
  const workspaceId = parseWorkspaceId(workspace);
  const limits = limitsIn(options);
  const request = {
    ...(name !== undefined && { name }),
    ...(plan !== undefined && { plan }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
  if (Object.keys(request).length === 0) throw new Error("There is nothing to change: give --name, --plan or a limit.");
  checkTerms(PatchWorkspace, request);
  await withDatabase(async (databases, adminContext) => {
    const patched = await patchWorkspace(databases.api, adminContext, workspaceId, request);
    await notifyNodes(databases, { kind: "workspaceChanged", workspaceId, keyId: null });
    printRecord(json ? patched : flat(patched), json);
  });
}

/** `tidemill workspace delete`: deletes a workspace with its queues, jobs and keys, after the operator has confirmed it. */
export async function deleteWorkspaceCommand(workspace: string, { yes, json }: { yes?: boolean; json?: boolean }): Promise<void> {
  const workspaceId = parseWorkspaceId(workspace);
  if (!yes && !process.stdin.isTTY) throw new Error("Deleting a workspace without a terminal needs --yes.");
  await withDatabase(async (databases, adminContext) => {
    const found = await findWorkspace(databases.api, workspaceId);
    if (!found) throw workspaceNotFound(workspaceId);
    const question = `Delete the workspace ${JSON.stringify(found.name)} with its queues, jobs and keys? [y/N] `;
    if (!yes && !(await confirm(question, process.stdin, process.stderr))) throw new Error("Nothing was deleted.");
    await deleteWorkspace(databases.api, adminContext, workspaceId, emptyWorkspace);
    await notifyNodes(databases, { kind: "workspaceDeleted", workspaceId });
    printRecord({ id: workspace, deleted: true }, json);
  });
}

/** Reads the id of a workspace from the command line. @throws an error for the operator when it is not one */
export function parseWorkspaceId(workspace: string): WorkspaceId {
  const id = readWorkspaceId(workspace);
  if (!id) throw new Error(`"${workspace}" is not the id of a workspace.`);
  return id;
}

const limitsIn = ({ executions, requestsPerMinute, retentionDays }: TermOptions): OwnLimits => ({
  ...(executions !== undefined && { executions_per_month: limitOf(executions) }),
  ...(requestsPerMinute !== undefined && { requests_per_minute: limitOf(requestsPerMinute) }),
  ...(retentionDays !== undefined && { retention_days: limitOf(retentionDays) }),
});

const limitOf = (given: Limit): number | null => (given === "none" ? null : given);

const COLUMNS = ["id", "name", "plan", "executions_per_month", "requests_per_minute", "retention_days", "created_at"];

/** A workspace as a row of a table. */
const flat = ({ id, name, plan, limits, created_at }: Omit<Workspace, "updated_at">): Record<string, string> => ({
  id,
  name,
  plan,
  executions_per_month: String(limits.executions_per_month ?? "none"),
  requests_per_minute: String(limits.requests_per_minute ?? "none"),
  retention_days: String(limits.retention_days ?? "none"),
  created_at,
});
