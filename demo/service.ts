import {
  type Config,
  createAdminContext,
  createWorkspace,
  DatabaseClock,
  Events,
  ensureSchema,
  openDatabases,
  readConfig,
  startNode,
  systemRandom,
} from "@tidemill/server";

/** A service that the demo may use. */
export interface Service {
  readonly url: string;
  readonly key: string;
  /** Lines to print: which service is used, and what was started. */
  readonly about: readonly string[];
  stop(): Promise<void>;
}

const nothing = async () => {};

/**
 * Finds the service to use. TIDEMILL_URL and TIDEMILL_KEY come first, then a service that listens on the configured port. If there is
 * neither, it starts a node with the configured data. Without TIDEMILL_KEY it creates a workspace in the service's database.
 */
export async function findService(env: Record<string, string | undefined>): Promise<Service> {
  const { TIDEMILL_URL: url, TIDEMILL_KEY: key } = env;
  if (url && key) return { url, key, about: [`Using the service at ${url}.`], stop: nothing };
  if (url || key) throw new Error("Set both TIDEMILL_URL and TIDEMILL_KEY, or neither.");

  const config = readConfig(env);
  const running = await findRunning(config);
  if (running !== null) {
    const made = await makeWorkspace(config);
    await checkKey(running, made, config);
    return { url: running, key: made, about: [`Using the service at ${running}, with a new workspace.`], stop: nothing };
  }

  // Port 0 takes any free port. Only the demo needs to reach this node, and nobody signs in to it.
  const node = await startNode({ ...config, dashboard: "off", host: "127.0.0.1", port: 0, internalHost: "127.0.0.1", internalPort: 0 });
  try {
    const about = [
      `Started a node with ${config.databaseUrl === null ? `the data in ${config.dataDir}` : "the database of DATABASE_URL"}.`,
    ];
    if (node.firstKey)
      about.push(`The node created the first workspace. Its key: ${node.firstKey}`, "The key is shown only once. Keep it.");
    return { url: node.url, key: await makeWorkspace(config), about, stop: () => node.stop() };
  } catch (error) {
    await node.stop();
    throw error;
  }
}

/** The address of the Tidemill that listens on the configured port. Null if nothing listens there. */
async function findRunning({ host, port }: Config): Promise<string | null> {
  if (port === 0) return null;
  const reachable = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  const url = `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
  const description = await fetch(`${url}/doc`, { signal: AbortSignal.timeout(5_000) }).then(
    (response) => response.json().catch(() => ({})) as Promise<{ info?: { title?: string } }>,
    () => null,
  );
  if (description === null) return null;
  if (description.info?.title === "Tidemill") return url;
  throw new Error(`The server at ${url} is not Tidemill. Set TIDEMILL_PORT to another port.`);
}

/** Creates a workspace as `tidemill workspace create` does. Returns its key. */
async function makeWorkspace(config: Config): Promise<string> {
  const { emit } = new Events();
  const databases = await openDatabases(config, "guest", emit);
  try {
    await ensureSchema(databases.connection, emit);
    const adminContext = createAdminContext(new DatabaseClock(), systemRandom);
    return (await createWorkspace(databases.api, adminContext, { name: "Demo", plan: "enterprise" })).key;
  } finally {
    await databases.close();
  }
}

/** Checks that the running service uses the configured data. If it uses other data, it does not know the key. */
async function checkKey(url: string, key: string, config: Config): Promise<void> {
  const { status } = await fetch(`${url}/v1/queues?limit=1`, { headers: { authorization: `Bearer ${key}` } });
  if (status !== 401) return;
  const data = config.databaseUrl === null ? `the data in ${config.dataDir}` : "the database of DATABASE_URL";
  throw new Error(
    `The service at ${url} does not use ${data}. Start the demo where the service was started, or set TIDEMILL_URL and TIDEMILL_KEY.`,
  );
}
