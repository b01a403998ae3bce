import { CreateKey, CreateWorkspace } from "@tidemill/contract";
import {
  createKey,
  createWorkspace,
  DatabaseClock,
  Events,
  type KeyMaker,
  migrate,
  type OpenDatabases,
  openDatabases,
  readConfig,
  readWorkspaceId,
  systemRandom,
  UuidSource,
} from "@tidemill/server";
import { Value } from "typebox/value";
import { fail } from "./fail.ts";
import { printTable } from "./table.ts";

/** `tidemill workspace create`: makes a workspace with its first key, in the database of the configuration. */
export async function createWorkspaceCommand(name: string, { plan, json }: { plan: string; json?: boolean }): Promise<void> {
  const request = { name, plan };
  if (!Value.Check(CreateWorkspace, request))
    throw new Error("A workspace has a name of 1 to 128 characters and the plan free, pro, team or enterprise.");
  await withDatabase(async ({ api }, maker) => {
    const { limits, ...created } = await createWorkspace(api, maker, request);
    print(json ? { ...created, limits } : created, json);
  });
}

/** `tidemill key create`: makes a key of a workspace. */
export async function createKeyCommand(
  workspace: string,
  { name, role, expiresAt, json }: { name: string; role: string; expiresAt?: string; json?: boolean },
): Promise<void> {
  const workspaceId = readWorkspaceId(workspace);
  const request = { name, role, expires_at: expiresAt ?? null };
  if (!workspaceId) throw new Error(`"${workspace}" is not the id of a workspace.`);
  if (!Value.Check(CreateKey, request)) {
    throw new Error(
      'A key has a name of 1 to 128 characters, the role admin, write or read, and expires at a date and time like "2030-01-31T12:00:00Z".',
    );
  }
  await withDatabase(async ({ api }, maker) => {
    const created = await createKey(api, maker, workspaceId, request).catch((error: unknown) => {
      throw (error as { code?: string }).code === "NOT_FOUND" ? new Error(`There is no workspace ${workspace}.`) : error;
    });
    print(created, json);
  });
}

/** Runs work on the database of the configuration: beside a running node, or with the embedded one started for the while. */
async function withDatabase(work: (databases: OpenDatabases, maker: KeyMaker) => Promise<void>): Promise<void> {
  try {
    const events = new Events();
    const databases = await openDatabases(readConfig(process.env), "guest", events.emit);
    try {
      await migrate(databases.connection, events.emit);
      await work(databases, { ids: new UuidSource(new DatabaseClock(), systemRandom), random: systemRandom });
    } finally {
      await databases.close();
    }
  } catch (error) {
    fail(error);
  }
}

function print(record: object, json: boolean | undefined): void {
  if (json) process.stdout.write(`${JSON.stringify(record, null, 2)}\n`);
  else printTable([Object.fromEntries(Object.entries(record).map(([name, value]) => [name, String(value ?? "")]))]);
}
