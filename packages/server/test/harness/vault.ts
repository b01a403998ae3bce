import path from "node:path";
import { createAdminContext, DatabaseClock, type Node, systemRandom, type WorkspaceId } from "@tidemill/server";
import { Database, type Transactional } from "#kernel";
import { Keyring } from "#vault";
import { createSecret } from "../../src/vault/create.ts";
import { openSecret, type SealedSecret } from "../../src/vault/envelope.ts";
import { FrozenClock } from "./clock.ts";
import type { TestDatabase } from "./database.ts";
import { newWorkspace, Service, startTestNode } from "./service.ts";
import type { Stage } from "./stage.ts";

/** A vault for one test: a database, a path for the key file, and nodes that share both. */
export class VaultFixture {
  readonly stage: Stage;
  readonly database: TestDatabase;
  readonly clock: FrozenClock;
  readonly engine: Database;
  readonly file: string;

  private constructor(stage: Stage, database: TestDatabase, clock: FrozenClock, engine: Database) {
    this.stage = stage;
    this.database = database;
    this.clock = clock;
    this.engine = engine;
    this.file = path.join(stage.directory(), "master.key");
  }

  static async create(stage: Stage): Promise<VaultFixture> {
    const database = await stage.database();
    const clock = new FrozenClock(database);
    await clock.set(Date.UTC(2026, 10, 21, 12));
    const engine = new Database({ connection: { connectionString: database.url }, size: 4, statementTimeoutMs: 10_000 });
    stage.finally(() => engine.close());
    return new VaultFixture(stage, database, clock, engine);
  }

  /** Starts a node with the key in `file`, or with a given key. */
  async node({ file = this.file, given = "" }: { file?: string; given?: string } = {}): Promise<Node> {
    const node = await startTestNode(this.database, this.clock, { TIDEMILL_MASTER_KEY: given, TIDEMILL_MASTER_KEY_FILE: file });
    this.stage.finally(() => node.stop());
    return node;
  }

  /** Creates a workspace, used through this node. */
  async service(node: Node): Promise<Service> {
    const service = new Service(node, this.database, this.clock, await newWorkspace(this.database));
    this.stage.finally(() => service.close());
    return service;
  }

  /** The keyring that a process would open now. */
  keyring(file = this.file): Promise<Keyring> {
    return Keyring.open({ masterKeys: [], masterKeyFile: file, dataDir: "/nowhere" });
  }

  /** Creates a workspace with the secrets `SECRET_1`, `SECRET_2` and so on. The value of each is its name. Returns the workspace. */
  async fill(count: number, database: Transactional = this.engine): Promise<WorkspaceId> {
    const [made] = await this.database.query<{ id: WorkspaceId }>(
      "insert into workspace (id, name, plan) values (gen_random_uuid(), 'Test', 'enterprise') returning id",
    );
    const workspaceId = made?.id as WorkspaceId;
    const { ids, audit } = createAdminContext(new DatabaseClock(), systemRandom);
    const vault = { keyring: await this.keyring(), random: systemRandom, ids, audit };
    for (let n = 1; n <= count; n += 1)
      await createSecret(database, vault, { workspaceId, actorId: "operator" }, { name: `SECRET_${n}`, value: `SECRET_${n}` });
    return workspaceId;
  }

  stored(): Promise<SealedSecret[]> {
    return this.database.query<SealedSecret & Record<string, unknown>>("select * from secret order by workspace_id, id");
  }

  /** The secrets that the keys on disk do not decrypt to their names. */
  async unreadable(): Promise<string[]> {
    const keyring = await this.keyring();
    return (await this.stored()).filter((secret) => !opensToItsName(keyring, secret)).map(({ name }) => name);
  }

  /** The id of the vault's master key, and the ids of those that wrap its secrets. */
  async keys(): Promise<{ vault: string | undefined; wrapping: string[] }> {
    const [vault] = await this.database.query<{ master_key_id: string }>("select master_key_id from vault");
    const wrapping = await this.database.query<{ master_key_id: string }>("select distinct master_key_id from secret order by 1");
    return { vault: vault?.master_key_id, wrapping: wrapping.map(({ master_key_id }) => master_key_id) };
  }
}

function opensToItsName(keyring: Keyring, secret: SealedSecret): boolean {
  try {
    return openSecret(keyring, secret) === secret.name;
  } catch {
    return false;
  }
}
