import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Account, chooseUnprivileged, parseAccounts } from "../../src/kernel/database/embedded/account.ts";
import { findInstalled, provideBinaries } from "../../src/kernel/database/embedded/binaries.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../src/kernel/database/embedded/index.ts";
import { withLock } from "../../src/kernel/database/embedded/lock.ts";
import { disownDeadServer, readPostmasterFile } from "../../src/kernel/database/embedded/postmaster.ts";
import { runProgram } from "../../src/kernel/database/embedded/run.ts";
import { isListening } from "../../src/kernel/database/embedded/session.ts";

const asRoot = process.getuid?.() === 0;
/** Some behaviour exists only as root, or only as an ordinary user. The suite runs as both. */
const notHere = (_name: string, _body: () => unknown) => {};
const frontDoor = new URL("../../src/kernel/database/embedded/index.ts", import.meta.url).href;

/** Most tests share one cluster, stopped in between, because creating one takes long. */
let shared: string;
let base: string;
let dataDir: string;
let held: EmbeddedPostgres[];
let nodes: ChildProcess[];
let told: { event: string; fields: Record<string, unknown> }[];
/** Removed at the very end: ext4 makes new files slowly right after many were removed. */
const litter: string[] = [];

beforeAll(() => {
  shared = temporary();
});

beforeEach(() => {
  base = temporary();
  dataDir = join(shared, "data");
  held = [];
  nodes = [];
  told = [];
});

afterEach(async () => {
  await Promise.all(held.map((one) => one.stop()));
  for (const node of nodes) node.kill("SIGKILL");
  const left = postmasterPid();
  if (left !== null && isThere(left)) process.kill(left, "SIGINT");
  await until(() => left === null || !isThere(left));
  for (const { host } of held.map(({ connection }) => connection)) {
    // Root uses one directory per data directory. Other users get one for the socket.
    if (!host.startsWith(base) && !host.startsWith(shared)) litter.push(asRoot ? dirname(host) : host);
  }
});

afterAll(() => {
  for (const path of litter) rmSync(path, { recursive: true, force: true });
});

describe("a start", () => {
  test("a start makes a cluster, a database and a socket, and keeps the data until the next", async () => {
    fresh();
    const first = await start();
    expect(first.adopted).toBe(false);
    await query(first, "create table kept as select 42 as answer");
    await first.stop();
    const second = await start();
    expect(await query(second, "select answer from kept")).toEqual([{ answer: 42 }]);
    expect(second.connection).toEqual(first.connection);
    expect(toldOf("postgres_initialised")).toHaveLength(1);
  });

  test("a start opens no port, is durable, and lets nobody else at its socket", async () => {
    const postgres = await start({ settings: { work_mem: "5MB" } });
    const rows = await query(
      postgres,
      `select name, setting from pg_settings where name in
         ('listen_addresses', 'fsync', 'synchronous_commit', 'full_page_writes', 'data_checksums', 'TimeZone', 'work_mem')`,
    );
    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toEqual({
      listen_addresses: "",
      fsync: "on",
      synchronous_commit: "on",
      full_page_writes: "on",
      data_checksums: "on",
      TimeZone: "UTC",
      work_mem: "5120",
    });
    expect(statSync(postgres.connection.host).mode & 0o777).toBe(0o700);
    expect(await query(postgres, "select lower('ÄÖ') as low, 'a' > 'B' as bytewise")).toEqual([{ low: "äö", bytewise: true }]);
  });

  test.each([
    ["spaces, quotes and letters beyond ASCII", `with "a space", 'quotes', Zoë's & 数据`],
    ["more than a socket's path may have", "long".repeat(40)],
  ])("a start works below a path with %s", async (_, name) => {
    dataDir = join(base, name);
    const postgres = await start();
    expect(await query(postgres, "select 1 as one")).toEqual([{ one: 1 }]);
    expect(JSON.parse(readFileSync(join(dataDir, "postgres.json"), "utf8"))).toMatchObject({ sockets: postgres.connection.host });
    await postgres.stop();
    expect((await start()).connection).toEqual(postgres.connection);
  });

  test("a start removes what an initdb left that was killed", async () => {
    fresh();
    const draft = join(dataDir, "postgres.0d4a0d7c-8a4e-4b0e-9c55-0f3a3f4c1a11");
    mkdirSync(join(draft, "base"), { recursive: true });
    chmodSync(dataDir, 0o711);
    chmodSync(draft, 0o777);
    chmodSync(join(draft, "base"), 0o777);
    await start();
    expect(() => statSync(draft)).toThrow("ENOENT");
  });

  test("a start puts an overlong log aside", async () => {
    fresh();
    mkdirSync(dataDir, { mode: 0o711 });
    writeFileSync(join(dataDir, "postgres.log"), Buffer.alloc(9 * 1024 * 1024, "x"));
    await start();
    expect(statSync(join(dataDir, "postgres.log")).size).toBeLessThan(10_000);
    expect(statSync(join(dataDir, "postgres.log.1")).size).toBe(9 * 1024 * 1024);
  });

  (asRoot ? test : notHere)("a start keeps the data in root's own room when nobody else can enter the data directory", async () => {
    fresh();
    chmodSync(base, 0o700);
    const postgres = await start();
    await query(postgres, "create table kept ()");
    await postgres.stop();
    expect(elsewhere()).toMatch(/^\/var\/lib\/tidemill\/[0-9a-f]{16}$/);
    expect(readdirSync(dataDir)).not.toContain("postgres");
    expect(await query(await start(), "select count(*)::int as kept from kept")).toEqual([{ kept: 0 }]);
  });

  (asRoot ? test : notHere)("a start does not begin anew when data kept elsewhere are gone", async () => {
    fresh();
    mkdirSync(dataDir, { mode: 0o711 });
    writeFileSync(join(dataDir, "postgres.json"), JSON.stringify({ elsewhere: join(base, "gone"), sockets: null }));
    await expect(start()).rejects.toMatchObject({ code: "DATA_DIR_UNREACHABLE" });
  });
});

describe("after a crash", () => {
  test("a server that still runs after a crash of its node is adopted, and stopped by its new owner", async () => {
    const node = await startNode();
    const pid = postmasterPid();
    node.kill("SIGKILL");
    await once(node, "exit");
    const postgres = await start();
    expect(postgres.adopted).toBe(true);
    expect(postmasterPid()).toBe(pid);
    await postgres.stop();
    expect(isThere(Number(pid))).toBe(false);
  });

  test("a start after a crash of node and server is clean", async () => {
    const node = await startNode();
    const pid = Number(postmasterPid());
    node.kill("SIGKILL");
    await once(node, "exit");
    process.kill(pid, "SIGKILL");
    await until(() => !isThere(pid));
    const postgres = await start();
    expect(postgres.adopted).toBe(false);
    expect(await query(postgres, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  test("a process that got the pid of the dead server does not pass for it", async () => {
    const first = await start();
    const pidFile = join(clusterDir(), "postmaster.pid");
    const socketLock = join(first.connection.host, ".s.PGSQL.5432.lock");
    const [before, socketLockBefore] = [readFileSync(pidFile, "utf8"), readFileSync(socketLock, "utf8")];
    await first.stop();
    // A process of the same user as PostgreSQL. PostgreSQL itself takes its pid for that of a live server.
    const { uid, gid } = statSync(clusterDir());
    const other = spawn("sleep", ["60"], asRoot ? { uid, gid } : {});
    nodes.push(other);
    await once(other, "spawn");
    const withPid = (text: string) => text.replace(/^\d+/, String(other.pid));
    for (const [file, text] of [
      [pidFile, before],
      [socketLock, socketLockBefore],
    ] as const) {
      writeFileSync(file, withPid(text), { mode: 0o600 });
      chownSync(file, uid, gid);
    }
    const second = await start();
    expect(second.adopted).toBe(false);
    expect(isThere(Number(other.pid))).toBe(true);
  });

  test("an owner whose server crashed has it started again on the same socket, again and again", async () => {
    const postgres = await start();
    const pool = new pg.Pool(postgres.connection);
    pool.on("error", () => {});
    await pool.query("create table survivor as select 42 as answer");
    for (const _ of [1, 2]) {
      const pid = Number(postmasterPid());
      process.kill(pid, "SIGKILL");
      await until(() => postmasterPid() !== pid && toldOf("postgres_started").at(-1)?.pid === postmasterPid());
      expect((await pool.query("select answer from survivor")).rows).toEqual([{ answer: 42 }]);
    }
    expect(toldOf("postgres_died")).toHaveLength(2);
    await pool.end();
  });

  test("an owner that had adopted a server that crashed starts it again too, until it stops", async () => {
    const node = await startNode();
    node.kill("SIGKILL");
    await once(node, "exit");
    const postgres = await start();
    const pid = Number(postmasterPid());
    process.kill(pid, "SIGKILL");
    await until(() => toldOf("postgres_started").length === 1);
    await postgres.stop();
    expect(postmasterPid()).toBeNull();
    expect(toldOf("postgres_died")).toHaveLength(1);
  });
});

describe("after a crash of a server", () => {
  test("a process that the server has just started, and that still listens, does not pass for a server in another container", async () => {
    const listener = await listenForDeadServer();
    let looks = 0;
    listener.on("connection", () => {
      looks += 1;
      if (looks === 3) listener.close();
    });
    expect((await start()).adopted).toBe(false);
    expect(looks).toBe(3);
  });

  test("a server listens that has taken no connection for long", async ({ onTestFinished }) => {
    const listen = "require('node:net').createServer().listen({path: process.argv[1], backlog: 1}, () => console.log('listening'))";
    const listener = spawn(process.execPath, ["-e", listen, join(base, ".s.PGSQL.5432")]);
    onTestFinished(() => void listener.kill("SIGKILL"));
    await once(listener.stdout, "data");
    listener.kill("SIGSTOP");
    const found = [];
    for (let look = 0; look < 8; look += 1) found.push(await isListening(base));
    expect(found).toEqual(Array(8).fill(true));
  });
});

describe("after a crash of a container", () => {
  test("an old file that happens to name the new server's pid is not taken for its word", async () => {
    const cluster = join(base, "cluster");
    mkdirSync(cluster);
    writeFileSync(join(cluster, "postmaster.pid"), "12\n/data\n1\n5432\n/run\n\n 3 4\nready   \n");
    expect(await disownDeadServer(cluster, base)).toBe(true);
    expect(await readPostmasterFile(cluster)).toMatchObject({ pid: process.pid, sockets: "/run" });
  });
});

describe("a server that somebody else told to end", () => {
  test("a server that somebody else told to end is not waited for until its last client leaves", async () => {
    const node = await startNode();
    node.kill("SIGKILL");
    await once(node, "exit");
    const pid = Number(postmasterPid());
    const client = new pg.Client({ host: join(dataDir, "run"), user: "tidemill", database: "tidemill" });
    client.on("error", () => {});
    await client.connect();
    process.kill(pid, "SIGTERM");
    await until(() => readFileSync(join(clusterDir(), "postmaster.pid"), "utf8").includes("stopping"));
    const postgres = await start();
    expect(postgres.adopted).toBe(false);
    expect(postmasterPid()).not.toBe(pid);
  });
});

describe("the binaries", () => {
  /** A package as npm leaves it when install scripts may not run. */
  function install(): { native: string; name: string; major: string } {
    const native = join(base, "package", "native");
    for (const part of ["bin", "lib/postgresql", "share/postgresql"]) mkdirSync(join(native, part), { recursive: true });
    for (const file of ["bin/postgres", "bin/initdb", "lib/libpq.so.5.18"]) writeFileSync(join(native, file), "", { mode: 0o700 });
    const links = [{ source: "native/lib/libpq.so.5.18", target: "native/lib/libpq.so.5" }];
    writeFileSync(join(native, "pg-symlinks.json"), JSON.stringify(links));
    return { native, name: `postgresql-0-${basename(base)}`, major: "18" };
  }
  const place = (account: Account | null) => ({ home: base, cluster: "", sockets: "", account });

  test("the binaries get the links that the install script did not make", async () => {
    const { postgres } = await provideBinaries(install(), place(null));
    expect(postgres).toBe(join(base, "package/native/bin/postgres"));
    expect(readlinkSync(join(base, "package/native/lib/libpq.so.5"))).toBe("libpq.so.5.18");
  });

  test("the binaries are copied when their place is nobody's to change, or out of the account's reach", async () => {
    const installed = install();
    chmodSync(join(installed.native, "lib"), 0o500);
    const { postgres } = await provideBinaries(installed, place(asRoot ? { name: "nobody", uid: 65534, gid: 65534 } : null));
    const copy = dirname(dirname(postgres));
    litter.push(dirname(copy));
    chmodSync(join(installed.native, "lib"), 0o700);
    expect(copy).toBe(join(asRoot ? "/var/lib/tidemill" : base, installed.name, "native"));
    expect(readlinkSync(join(copy, "lib/libpq.so.5"))).toBe("libpq.so.5.18");
    expect(statSync(postgres).mode & 0o777).toBe(0o755);
  });
});

describe("two of them", () => {
  test("two owners that start at the same moment share one server", async () => {
    fresh();
    const [one, two, node] = await Promise.all([start(), start({ as: "guest" }), startNode()]);
    expect(one?.connection).toEqual(two?.connection);
    expect([...toldOf("postgres_started"), ...toldBy(node).filter(({ event }) => event === "postgres_started")]).toHaveLength(1);
    expect([...toldOf("postgres_initialised"), ...toldBy(node).filter(({ event }) => event === "postgres_initialised")]).toHaveLength(1);
  });

  test("a guest never stops an owner's server, not even one whose owner died", async () => {
    const node = await startNode();
    const guest = await start({ as: "guest" });
    expect(guest.adopted).toBe(true);
    await guest.stop();
    expect(isThere(Number(postmasterPid()))).toBe(true);
    node.kill("SIGKILL");
    await once(node, "exit");
    await (await start({ as: "guest" })).stop();
    expect(isThere(Number(postmasterPid()))).toBe(true);
  });

  test("the last guest stops a server that a guest started", async () => {
    const first = await start({ as: "guest" });
    const second = await start({ as: "guest" });
    await first.stop();
    expect(await query(second, "select 1 as one")).toEqual([{ one: 1 }]);
    await Promise.all([second.stop(), second.stop()]);
    expect(postmasterPid()).toBeNull();
  });

  test("a guest that started it leaves it to an owner that came since", async () => {
    const guest = await start({ as: "guest" });
    const owner = await start();
    await guest.stop();
    expect(await query(owner, "select 1 as one")).toEqual([{ one: 1 }]);
    await owner.stop();
    expect(postmasterPid()).toBeNull();
  });

  test("a second owner stops nothing while the first lives, and is the owner once that is gone", async () => {
    const first = await start();
    await (await start()).stop();
    expect(await query(first, "select 1 as one")).toEqual([{ one: 1 }]);
    const heir = await start();
    await first.stop();
    expect(await query(heir, "select 1 as one")).toEqual([{ one: 1 }]);
    await heir.stop();
    expect(postmasterPid()).toBeNull();
  });
});

describe("the process of the server", () => {
  test("the process of the server is not reached by a Ctrl-C that its node gets", async () => {
    const node = await startNode({ detached: true });
    process.kill(-Number(node.pid), "SIGINT");
    await once(node, "exit");
    expect((await start()).adopted).toBe(true);
  });

  test("the process of the server does not keep its node running", async () => {
    const node = await startNode({ holds: false });
    if (node.exitCode === null) await once(node, "exit");
    expect(node.exitCode).toBe(0);
    expect((await start()).adopted).toBe(true);
  });
});

describe("a start that cannot be", () => {
  test.each([["win32-x64"], ["freebsd-x64"], ["linux-s390x"]])(
    "a start on a platform without binaries names DATABASE_URL: %s",
    async (platform) => {
      const failure = findInstalled(platform);
      await expect(failure).rejects.toThrow("DATABASE_URL");
      await expect(failure).rejects.toMatchObject({ name: "EmbeddedPostgresError", code: "PLATFORM_UNSUPPORTED" });
    },
  );

  test("a start that cannot be says so when the package of the platform is not installed", async () => {
    const missing = process.arch === "ppc64" ? "linux-arm" : "linux-ppc64";
    await expect(findInstalled(missing)).rejects.toMatchObject({ code: "PLATFORM_UNSUPPORTED" });
  });

  test("a start that cannot be says that the binaries need glibc when their loader is missing", async () => {
    const binary = join(base, "initdb");
    writeFileSync(binary, "#!/lib/ld-of-another-libc\n", { mode: 0o755 });
    await expect(runProgram(binary, [], null)).rejects.toMatchObject({
      code: "BINARIES_UNUSABLE",
      message: expect.stringMatching(/GNU C library.*DATABASE_URL/),
    });
  });

  test("a start that cannot be says so when root has no unprivileged user", () => {
    const passwd = "root:x:0:0::/root:/bin/sh\nalice:x:1000:1000::/home/alice:/bin/sh\n";
    expect(() => chooseUnprivileged(parseAccounts(passwd))).toThrow("DATABASE_URL");
    expect(chooseUnprivileged(parseAccounts(`${passwd}nobody:x:65534:65534::/:/bin/false\n`)).name).toBe("nobody");
  });

  test("a start that cannot be says which version made the data", async () => {
    fresh();
    await (await start()).stop();
    writeFileSync(join(clusterDir(), "PG_VERSION"), "17\n");
    await expect(start()).rejects.toMatchObject({
      code: "DATA_OF_ANOTHER_VERSION",
      message: expect.stringMatching(/PostgreSQL 17.*DATABASE_URL/),
    });
  });

  test("a start that cannot be touches no directory that holds something else", async () => {
    fresh();
    mkdirSync(join(dataDir, "postgres"), { recursive: true });
    chmodSync(dataDir, 0o711);
    writeFileSync(join(dataDir, "postgres", "thesis.txt"), "years of work");
    await expect(start()).rejects.toMatchObject({ code: "DATA_NOT_OURS", message: expect.stringContaining("DATABASE_URL") });
  });

  test("a start that cannot be says so when the data directory is a file, or lies in one", async () => {
    fresh();
    writeFileSync(dataDir, "");
    await expect(start()).rejects.toMatchObject({ code: "DATA_DIR_NOT_WRITABLE", message: expect.stringContaining("DATABASE_URL") });
    dataDir = join(dataDir, "below");
    await expect(start()).rejects.toMatchObject({ code: "DATA_DIR_NOT_WRITABLE" });
  });

  (asRoot ? notHere : test)("a start that cannot be says so when the data directory may not be written", async () => {
    fresh();
    mkdirSync(dataDir, { mode: 0o500 });
    await expect(start()).rejects.toMatchObject({ code: "DATA_DIR_NOT_WRITABLE", message: expect.stringContaining("DATABASE_URL") });
  });

  test("a start that cannot be says that a server whose process is not here has the data", async ({ onTestFinished }) => {
    fresh();
    const listener = await listenForDeadServer();
    onTestFinished(() => void listener.close());
    await expect(start()).rejects.toMatchObject({ code: "IN_USE_ELSEWHERE", message: expect.stringContaining("TIDEMILL_DATA_DIR") });
  });

  test("a start that cannot be repeats PostgreSQL's last words", async () => {
    await expect(start({ settings: { shared_buffers: "lots" } })).rejects.toMatchObject({
      code: "START_FAILED",
      message: expect.stringMatching(/invalid value for parameter "shared_buffers".*DATABASE_URL/),
    });
  });
});

describe("the lock", () => {
  test("the lock lets one in at a time, and passes over a holder that is dead or whose pid another has", async () => {
    const lock = join(base, "lock");
    symlinkSync(`${process.pid} long-ago`, `${lock}.7`);
    let inside = 0;
    let most = 0;
    const visit = () =>
      withLock(lock, async () => {
        inside += 1;
        most = Math.max(most, inside);
        await new Promise(setImmediate);
        inside -= 1;
      });
    await Promise.all(Array.from({ length: 20 }, visit));
    expect(most).toBe(1);
    expect(readdirSync(base)).toHaveLength(1);
  });
});

function temporary(): string {
  const path = mkdtempSync(join(tmpdir(), "embedded-"));
  // Started by root, PostgreSQL runs as another user, who needs access to this directory.
  chmodSync(path, 0o711);
  litter.push(path);
  return path;
}

/** Leaves a `postmaster.pid` that names a process that has ended, and listens on the socket that it names. */
async function listenForDeadServer(): Promise<Server> {
  const { connection, stop } = await start();
  const pidFile = join(clusterDir(), "postmaster.pid");
  const text = readFileSync(pidFile, "utf8");
  await stop();
  const dead = spawn("true");
  await once(dead, "exit");
  writeFileSync(pidFile, text.replace(/^\d+/, String(dead.pid)));
  const { uid, gid } = statSync(clusterDir());
  chownSync(pidFile, uid, gid);
  chmodSync(pidFile, 0o600);
  const listener = createServer((socket) => socket.destroy()).listen(join(connection.host, ".s.PGSQL.5432"));
  await once(listener, "listening");
  return listener;
}

/** Gives the test its own data directory. */
function fresh(): void {
  dataDir = join(base, "data");
}

async function start({ as = "owner", settings = {} }: { as?: "owner" | "guest"; settings?: Record<string, string> } = {}) {
  const postgres = await startEmbeddedPostgres({ dataDir, as, settings, emit: (event, fields) => told.push({ event, fields }) });
  held.push(postgres);
  return postgres;
}

/** A process that starts as owner, and then waits, or has nothing left to do. */
async function startNode({ detached = false, holds = true } = {}): Promise<ChildProcess> {
  const code = `
    const { startEmbeddedPostgres } = await import(${JSON.stringify(frontDoor)});
    const told = [];
    await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)}, as: "owner", emit: (event, fields) => told.push({ event, fields }) });
    console.log(JSON.stringify(told));
    if (${holds}) setInterval(() => {}, 60_000);`;
  const node = spawn(process.execPath, ["--input-type=module", "-e", code], { detached, stdio: ["ignore", "pipe", "inherit"] });
  nodes.push(node);
  const [line] = await once(createInterface(node.stdout), "line");
  Object.assign(node, { told: JSON.parse(line) });
  return node;
}

const toldBy = (node: ChildProcess | undefined) => (node as unknown as { told: typeof told }).told;
const toldOf = (name: string) => told.filter(({ event }) => event === name).map(({ fields }) => fields);

async function query(postgres: EmbeddedPostgres, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(postgres.connection);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

function elsewhere(): string | null {
  try {
    return JSON.parse(readFileSync(join(dataDir, "postgres.json"), "utf8")).elsewhere;
  } catch {
    return null;
  }
}

const clusterDir = () => join(elsewhere() ?? dataDir, "postgres");

function postmasterPid(): number | null {
  try {
    return Number.parseInt(readFileSync(join(clusterDir(), "postmaster.pid"), "utf8"), 10);
  } catch {
    return null;
  }
}

/** Whether a process is alive and not a zombie. */
function isThere(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

async function until(condition: () => boolean): Promise<void> {
  const sinceMs = performance.now();
  while (!condition()) {
    if (performance.now() - sinceMs > 60_000) throw new Error("It did not come about within 60 seconds.");
    await sleep(10);
  }
}
