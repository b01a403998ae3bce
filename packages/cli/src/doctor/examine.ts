import { existsSync, statfsSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import {
  type Config,
  countByKeyAcrossWorkspaces,
  Events,
  findVaultKey,
  inspectDatabase,
  Keyring,
  openDatabases,
  readConnectionLimits,
  readFileLimit,
  readSchemaState,
} from "@tidemill/server";
import {
  type Finding,
  judgeConnections,
  judgeDatabase,
  judgeDisk,
  judgeEncryption,
  judgeFiles,
  judgeMasterKey,
  judgePort,
  judgeSchema,
  type PortUse,
} from "./findings.ts";

/** How long a node may take to identify itself. Milliseconds. */
const PROBE_MS = 2_000;

/** Checks what a node with this configuration needs. It changes nothing. An existing embedded PostgreSQL is started temporarily. */
export async function examine(config: Config): Promise<Finding[]> {
  return [
    { check: "node", status: "ok", message: `Node ${process.version}.` },
    judgeFiles(readFileLimit()),
    judgeDisk(config.dataDir, freeBytes(config.dataDir)),
    judgePort("API port", config.port, await findUse(config.host, config.port)),
    judgePort("internal port", config.internalPort, await findUse(config.internalHost, config.internalPort)),
    ...(await examineDatabase(config)),
  ];
}

async function examineDatabase(config: Config): Promise<Finding[]> {
  if (config.databaseUrl === null && !existsSync(config.dataDir))
    return [{ check: "database", status: "ok", message: "The first start creates an embedded PostgreSQL." }];
  try {
    const databases = await openDatabases(config, "guest", new Events().emit);
    try {
      const facts = await inspectDatabase(databases.engine);
      const found = judgeDatabase(facts, performance.timeOrigin + performance.now());
      const connections = judgeConnections(await readConnectionLimits(databases.engine), config.databaseConnections);
      const encryption = judgeEncryption(hostOf(config.databaseUrl), facts.is_encrypted);
      const schema = judgeSchema(await readSchemaState(databases.api));
      return [...found, connections, encryption, schema, await examineMasterKey(databases.api, config)];
    } finally {
      await databases.close();
    }
  } catch (error) {
    return [{ check: "database", status: "failed", message: (error as Error).message.split("\n")[0] ?? "" }];
  }
}

/** The host in a URL of a database: a name, an address, or the directory of a Unix socket. */
function hostOf(databaseUrl: string | null): string | null {
  if (databaseUrl === null) return null;
  const { hostname, searchParams } = new URL(databaseUrl);
  return searchParams.get("host") ?? decodeURIComponent(hostname);
}

async function examineMasterKey(db: Parameters<typeof findVaultKey>[0], config: Config): Promise<Finding> {
  try {
    const keyring = await Keyring.open(config);
    const current = await findVaultKey(db).catch(noTables);
    const wrapping = await countByKeyAcrossWorkspaces(db).catch(noTables);
    const needed = new Set([...(current === null ? [] : [current]), ...(wrapping ?? []).map(({ master_key_id }) => master_key_id)]);
    return judgeMasterKey(
      keyring.ids,
      [...needed].filter((id) => !keyring.has(id)),
    );
  } catch (error) {
    return { check: "master key", status: "failed", message: (error as Error).message.split("\n")[0] ?? "" };
  }
}

/** Before the first start there are no tables. */
function noTables(error: unknown): null {
  if ((error as { code?: string }).code === "42P01") return null;
  throw error;
}

/** Free space for the directory, or for the closest existing one above it. Bytes. */
function freeBytes(directory: string): number {
  if (!existsSync(directory) && path.dirname(directory) !== directory) return freeBytes(path.dirname(directory));
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

async function findUse(host: string, port: number): Promise<PortUse> {
  const code = await listenOnce(host, port);
  if (code === null) return "free";
  if (code !== "EADDRINUSE") return "forbidden";
  return (await isNode(host, port)) ? "node" : "taken";
}

/** The code of the error, if any. */
const listenOnce = (host: string, port: number): Promise<string | null> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code ?? "UNKNOWN"));
    server.listen({ host, port }, () => server.close(() => resolve(null)));
  });

async function isNode(host: string, port: number): Promise<boolean> {
  const name = host === "0.0.0.0" || host === "::" ? "localhost" : host;
  const url = `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
  const responses = ["/healthz", "/metrics"].map((where) =>
    fetch(url + where, { signal: AbortSignal.timeout(PROBE_MS) }).then(readText, () => ""),
  );
  const [health = "", metrics = ""] = await Promise.all(responses);
  return health.includes('"status"') || metrics.includes("tidemill_");
}

const readText = (response: Response): Promise<string> => response.text().catch(() => "");
