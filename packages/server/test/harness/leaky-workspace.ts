import { ask as askDatabase } from "./cluster.ts";
import { ENCODERS } from "./encoders.ts";
import { bytesUnder, type Errand, leaky, withBytea } from "./leaks.ts";
import type { NodeProcess } from "./process.ts";
import { closedPort } from "./raw-server.ts";
import { until } from "./service.ts";
import type { Stage } from "./stage.ts";

/** The secrets of a workspace, and other values that must not leak. */
interface Values {
  /** Values by name: PLAIN, LINES (with line breaks), NUMBER (only digits), and others. */
  readonly secrets: Readonly<Record<string, string>>;
  /** The names of the secrets whose values are valid in headers. */
  readonly inHeaders: readonly string[];
  /** A value that the API refuses, so that the vault never stores it. */
  readonly refused: string;
  /** Not a secret: a job's payload holds it. */
  readonly planted: string;
  readonly masterKey: string;
  readonly adminToken: string;
}

const template = (name: string): string => `\${{ secrets.${name} }}`;
const NODE_OPTIONS = `--report-on-signal --report-signal=SIGUSR2 --report-uncaught-exception --import=data:text/javascript,${encodeURIComponent(
  "process.on('SIGPROF', () => { throw new Error('Thrown from without.'); })",
)}`;

/** The places where a secret could leak, with the content of each. */
export type Places = Record<"replies" | "logs" | "metrics" | "reports" | "database" | "files", Buffer>;

/** A workspace whose handlers and callers leak its secrets. */
export class LeakyWorkspace {
  readonly #stage: Stage;
  readonly #values: Values;
  readonly #dataDir: string;
  readonly #reports: string;
  readonly #nodes: NodeProcess[] = [];
  readonly #replies: string[] = [];
  readonly #queues: string[] = [];
  #node: Awaited<ReturnType<Stage["node"]>> | undefined;

  constructor(stage: Stage, values: Values) {
    this.#stage = stage;
    this.#values = values;
    this.#dataDir = stage.dataDir();
    this.#reports = stage.directory();
  }

  async play(): Promise<Places> {
    const handler = await this.#stage.handler(leaky);
    await this.#start();
    await this.#keepSecrets();
    await this.#leakInAnswers(handler.url);
    await this.#failToSend();
    for (const end of ["SIGPROF", "SIGABRT", "SIGSEGV"] as const) await this.#crash(handler, end);
    await this.#readAll();
    return this.#places();
  }

  get #names(): string[] {
    return Object.keys(this.#values.secrets);
  }

  async #start(): Promise<void> {
    this.#node = await this.#stage.node({
      TIDEMILL_DATA_DIR: this.#dataDir,
      TIDEMILL_MASTER_KEY: this.#values.masterKey,
      TIDEMILL_ADMIN_TOKEN: this.#values.adminToken,
      TIDEMILL_LOG_LEVEL: "debug",
      TIDEMILL_NODE_LEASE_SECONDS: "2",
      NODE_OPTIONS: `${NODE_OPTIONS} --report-directory=${this.#reports}`,
    });
    this.#nodes.push(this.#node);
  }

  // biome-ignore lint/suspicious/noExplicitAny: a test knows what it asked for, and a wrong guess fails it.
  async #api(method: string, url: string, body?: unknown): Promise<any> {
    const reply = await this.#node?.client.api(method, url, body);
    this.#replies.push(`${method} ${url} ${reply?.status} ${JSON.stringify([...(reply?.headers ?? [])])} ${reply?.text}`);
    return reply?.body;
  }

  async #keepSecrets(): Promise<void> {
    for (const [name, value] of Object.entries(this.#values.secrets)) {
      await this.#api("POST", "/v1/secrets", { name, value: "another value, before it is rotated" });
      await this.#api("PATCH", `/v1/secrets/${name}`, { value });
    }
    const value = this.#values.refused;
    for (const [method, url] of [
      ["POST", "/v1/secrets"],
      ["PATCH", "/v1/secrets/PLAIN"],
    ] as const) {
      await this.#api(method, url, `{"name":"MALFORMED","value":"${value}`);
      await this.#api(method, url, `{"name":"MALFORMED","value":"${value}"} "${value}"`);
      await this.#api(method, url, `"${value}"`);
      for (const wrong of [[value], { value }, `${value}\0`, `${value}${"x".repeat(70_000)}`])
        await this.#api(method, url, { name: "WRONG", value: wrong });
      await this.#api(method, url, { name: value, value });
      await this.#api(method, url, { name: "WRONG", value, allowed_hosts: [`${value}/`], allowed_queues: value, valeu: value });
    }
  }

  async #queue(settings: Record<string, unknown>): Promise<string> {
    const name = `queue-${this.#queues.length}`;
    await this.#api("POST", "/v1/queues", { name, ...settings });
    this.#queues.push(name);
    return name;
  }

  /** Each way to leak gets its own queue, because twenty failures in a row open a circuit. */
  async #leakInAnswers(url: string): Promise<void> {
    const { inHeaders } = this.#values;
    const callback_headers = Object.fromEntries(inHeaders.map((name) => [`x-${name}`, `Token ${template(name)}`]));
    const callback_url = `${url}/${template("PLAIN")}?${this.#names.map((name) => `${name}=${template(name)}`).join("&")}`;
    const leak = async (does: Errand["does"], encoding: string, names: readonly string[] = this.#names) => {
      const queue = await this.#queue({ callback_url, callback_headers, defaultJobOptions: { attempts: 1 } });
      const jobs = names.map((name) => ({ payload: { does, encoding, secret: template(name) }, tag: does }));
      await this.#api("POST", `/v1/queues/${queue}/jobs/batch`, { jobs });
    };
    for (const encoding of Object.keys(ENCODERS)) {
      for (const does of ["result", "error", "cut error"] as const) await leak(does, encoding);
    }
    for (const does of ["page", "JSON error", "cut in the middle of a redaction", "echo"] as const) await leak(does, "as it is");
    for (const does of ["headers", "redirect"] as const) await leak(does, "as it is", inHeaders);
    await leak("numbers", "as it is", ["NUMBER"]);
    await this.#untilIdle();
  }

  async #failToSend(): Promise<void> {
    const once = { defaultJobOptions: { attempts: 1 } };
    const secrets = this.#names.map(template).join("/");
    const refused = await this.#queue({ callback_url: `http://127.0.0.1:${await closedPort()}/${secrets}`, ...once });
    const unknown = await this.#queue({ callback_url: `http://no-such-host.invalid/${secrets}?q=${secrets}`, ...once });
    const blocked = await this.#queue({ callback_url: `http://localhost/${secrets}`, ...once });
    await askDatabase(this.#dataDir, "update queue set callback_url = $1 where id in (select id from lane where name = $2)", [
      `http://10.0.0.1/${secrets}`,
      blocked,
    ]);
    const torn = await this.#queue({ callback_url: "http://localhost/", callback_headers: { "x-a": template("LINES") }, ...once });
    for (const queue of [refused, unknown, blocked, torn]) await this.#api("POST", `/v1/queues/${queue}/jobs`, { payload: {} });
    const missing = { one: template("PLAIN"), other: template("MISSING") };
    await this.#api("POST", `/v1/queues/${refused}/jobs`, { payload: missing });
    await this.#api("POST", `/v1/queues/${refused}/jobs`, { payload: { planted: this.#values.planted } });
    await this.#untilIdle();
  }

  /** Ends the node during attempts, after a diagnostic report. */
  async #crash(handler: { url: string; open: number }, end: NodeJS.Signals): Promise<void> {
    const callback_url = `${handler.url}?token=${template("PLAIN")}`;
    const queue = await this.#queue({ callback_url, callback_timeout: 900, defaultJobOptions: { attempts: 1 } });
    const jobs = this.#names.map((name) => ({ payload: { does: "hang", encoding: "as it is", secret: template(name) } }));
    await this.#api("POST", `/v1/queues/${queue}/jobs/batch`, { jobs });
    await until(() => handler.open === jobs.length, "the attempts to be under way");
    const node = this.#node as NodeProcess;
    node.signal("SIGUSR2");
    await until(() => node.stderr.includes("Node.js report completed"), "the report");
    node.signal(end);
    await node.end();
    await until(() => handler.open === 0, "its connections to be gone");
    await this.#start();
    await this.#api("DELETE", `/v1/queues/${queue}`);
  }

  /** Reads everything that the API shows. */
  async #readAll(): Promise<void> {
    for (const page of ["secrets", "queues", "dlq", "audit-events", "keys", "status", "usage"]) await this.#readPages(`/v1/${page}`);
    for (const queue of this.#queues) {
      await this.#api("GET", `/v1/queues/${queue}`);
      for (const { id } of await this.#readPages(`/v1/queues/${queue}/jobs`)) await this.#api("GET", `/v1/queues/${queue}/jobs/${id}`);
    }
  }

  async #readPages(url: string): Promise<{ id: string }[]> {
    const read: { id: string }[] = [];
    for (let cursor = ""; ; ) {
      const page = await this.#api("GET", `${url}${cursor}`);
      read.push(...(page?.data ?? []));
      if (!page?.next_cursor) return read;
      cursor = `?cursor=${page.next_cursor}`;
    }
  }

  async #untilIdle(): Promise<void> {
    const busy = async () =>
      (
        await askDatabase<{ n: number }>(
          this.#dataDir,
          "select count(*)::int as n from job where state in ('waiting', 'active', 'delayed')",
        )
      )[0]?.n;
    await until(async () => (await busy()) === 0, "the jobs to be finished");
  }

  async #places(): Promise<Places> {
    const metrics = await (await fetch(`${this.#node?.internalUrl}/metrics`)).text();
    const tables = await askDatabase<{ name: string }>(
      this.#dataDir,
      "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')",
    );
    const rows: string[] = [];
    for (const { name } of tables)
      rows.push(
        ...(await askDatabase<{ row: string }>(this.#dataDir, `select t::text as row from ${name} t`)).map(({ row }) => `${name} ${row}`),
      );
    this.#node?.signal("SIGTERM");
    await this.#node?.end();
    return {
      replies: Buffer.from(this.#replies.join("\n")),
      logs: Buffer.from(this.#nodes.map(({ stdout, stderr }) => stdout + stderr).join("\n")),
      metrics: Buffer.from(metrics),
      reports: bytesUnder(this.#reports),
      database: withBytea(rows.join("\n")),
      files: bytesUnder(this.#dataDir),
    };
  }
}
