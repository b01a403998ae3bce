import { CreateKey } from "@tidemill/contract";
import {
  createKey,
  findWorkspace,
  listKeys,
  OPERATOR,
  readKeyId,
  revokeKey,
  showKey,
  type Uuid,
  workspaceNotFound,
} from "@tidemill/server";
import { Value } from "typebox/value";
import { KEY_COLUMNS } from "../output/key-columns.ts";
import { type ListOptions, printPages } from "../output/print-pages.ts";
import { printRecord } from "../output/table.ts";
import { notifyNodes } from "./notify-nodes.ts";
import { readPages } from "./read-pages.ts";
import { withDatabase } from "./with-database.ts";
import { parseWorkspaceId } from "./workspace.ts";

const WORDS = `a name of 1 to 128 characters, the role admin, write, read or worker, with role worker 1 to 100 different queues and as many workflows, and expires \
at a date and time like "2030-01-31T12:00:00Z"`;

/** `tidemill key list`: lists a workspace's keys that are not revoked, newest first. */
export async function listKeysCommand(workspace: string, options: ListOptions): Promise<void> {
  const workspaceId = parseWorkspaceId(workspace);
  await withDatabase(async ({ api }) => {
    if (!(await findWorkspace(api, workspaceId))) throw workspaceNotFound(workspaceId);
    const read = (before: Uuid | null, limit: number) => listKeys(api, workspaceId, before, limit);
    await printPages((limit) => readPages(read, limit, showKey), KEY_COLUMNS, options);
  });
}

/** `tidemill key create`: creates a key for a workspace. */
export async function createKeyCommand(workspace: string, request: CreateKey, { json }: { json?: boolean }): Promise<void> {
  const workspaceId = parseWorkspaceId(workspace);
  if (!Value.Check(CreateKey, request)) throw new Error(`A key has ${WORDS}.`);
  await withDatabase(async ({ api }, adminContext) => {
    printRecord(await createKey(api, adminContext, { workspaceId, actorId: OPERATOR }, request), json);
  });
}

/** `tidemill key revoke`: revokes a key, which the service refuses from then on. */
export async function revokeKeyCommand(workspace: string, key: string, { json }: { json?: boolean }): Promise<void> {
  const workspaceId = parseWorkspaceId(workspace);
  const id = readKeyId(key);
  if (!id) throw new Error('Give the id of the key, key_…: "tidemill key list" shows it.');
  await withDatabase(async (databases, adminContext) => {
    await revokeKey(databases.api, adminContext, { workspaceId, actorId: OPERATOR }, id);
    await notifyNodes(databases, { kind: "workspaceChanged", workspaceId, keyId: id });
    printRecord({ id: key, revoked: true }, json);
  });
}
