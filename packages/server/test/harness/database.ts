import { randomUUID } from "node:crypto";
import pg from "pg";
import { type Server, TEMPLATE } from "./postgres.ts";

/** A database of a test file's own, cloned from the migrated template. */
export class TestDatabase {
  readonly url: string;
  readonly name: string;
  readonly #pool: pg.Pool;
  readonly #ends: (() => Promise<void>)[] = [];

  private constructor(server: Server, name: string) {
    this.name = name;
    this.url = `postgres://${server.user}@${encodeURIComponent(server.host)}:${server.port}/${name}`;
    this.#pool = new pg.Pool({ connectionString: this.url, max: 4, options: "-c search_path=tidemill -c timezone=UTC" });
    this.#pool.on("error", () => {});
  }

  static async create(server: Server): Promise<TestDatabase> {
    const name = `test_${randomUUID().replaceAll("-", "")}`;
    await administer(server, `create database ${name} template ${TEMPLATE}`);
    return new TestDatabase(server, name);
  }

  /** Rows of a statement with values. */
  async query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.#pool.query<Row>(text, values)).rows;
  }

  /** The database itself stays for as long as its server: to drop it costs more than all else that a short test does. */
  async close(): Promise<void> {
    for (const end of this.#ends) await end();
    await this.#pool.end();
  }

  /** What is to be ended with the connections of this. */
  beforeClose(end: () => Promise<void>): void {
    this.#ends.push(end);
  }
}

async function administer(server: Server, text: string): Promise<void> {
  const admin = new pg.Client({ ...server, database: "tidemill" });
  await admin.connect();
  try {
    await admin.query(text);
  } finally {
    await admin.end();
  }
}
