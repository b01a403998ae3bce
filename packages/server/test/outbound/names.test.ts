import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { test as base, describe, expect } from "vitest";
import { SharedResource, type WorkspaceId } from "#kernel";
import { createAddressGuard } from "#outbound";
import { Lookup } from "../../src/outbound/names/lookup.ts";
import { Names } from "../../src/outbound/names/names.ts";
import type { Resolution } from "../../src/outbound/names/resolution.ts";
import { SystemFiles } from "../../src/outbound/names/system-files.ts";
import type { SystemLookup } from "../../src/outbound/names/system-lookup.ts";
import { TestNameServer } from "../harness/name-server.ts";
import { closedPort } from "../harness/raw-server.ts";
import { until } from "../harness/service.ts";

const OURS = "ours" as WorkspaceId;
const OTHER = "other" as WorkspaceId;

interface ResolverOptions {
  readonly servers?: readonly string[];
  readonly hosts?: string;
  readonly resolvConf?: string;
  readonly systemLookup?: SystemLookup;
  readonly capacity?: number;
  readonly maxWaitMs?: number;
  readonly tries?: number;
  readonly allowed?: readonly string[];
  readonly maxLookupMs?: number;
}

/** How long a silent name server is waited for. Milliseconds. */
const SILENCE_MS = 1_000;

/** Resolvers that ask the test's name server, give up soon, and whose clock is stalled. */
const test = base
  .extend("server", async ({}, { onCleanup }) => {
    const server = await TestNameServer.listen();
    onCleanup(() => server.close());
    return server;
  })
  .extend("directory", async ({}, { onCleanup }) => {
    const directory = await mkdtemp(path.join(os.tmpdir(), "names-"));
    onCleanup(() => rm(directory, { recursive: true }));
    return directory;
  })
  .extend("resolver", ({ server, directory }) => async (options: ResolverOptions = {}) => {
    const clock = { ms: 0, elapsedMs: () => clock.ms };
    const files = { hosts: path.join(directory, "hosts"), resolvConf: path.join(directory, "resolv.conf") };
    await writeFile(files.hosts, options.hosts ?? "");
    await writeFile(files.resolvConf, options.resolvConf ?? "");
    const { servers = [server.address], systemLookup = null, capacity = 256, maxWaitMs = 60_000, tries = 1 } = options;
    const share = new SharedResource({ name: "lookups", capacity, maxWaitMs });
    const lookup = new Lookup({ servers, timeoutMs: SILENCE_MS, tries }, systemLookup);
    const guard = createAddressGuard({ allowLoopback: true, allowed: options.allowed ?? ["0.0.0.0/0", "::/0"] });
    const names = new Names({
      files: new SystemFiles(clock, files),
      lookup,
      guard,
      share,
      clock,
      ...(options.maxLookupMs && { maxLookupMs: options.maxLookupMs }),
    });
    const show = (resolution: Resolution) =>
      resolution.kind === "found" ? resolution.addresses.map(({ address }) => address) : resolution.error.code;
    const resolve = async (name: string, workspaceId = OURS) => show(await names.resolve(workspaceId, name));
    return { names, resolve, share, clock, files };
  });

describe("addresses", () => {
  test("addresses of both families are found, IPv4 first", async ({ server, resolver }) => {
    server.names.set("both.example", { a: ["192.0.2.1", "192.0.2.2"], aaaa: ["2001:db8::1"] });
    const { names } = await resolver();
    expect(await names.resolve(OURS, "both.example")).toMatchObject({
      addresses: [
        { address: "192.0.2.1", family: 4 },
        { address: "192.0.2.2", family: 4 },
        { address: "2001:db8::1", family: 6 },
      ],
    });
  });

  test.for([
    [{ a: ["192.0.2.1"], aaaa: "fails" }, ["192.0.2.1"]],
    [{ a: ["192.0.2.1"], aaaa: "silent" }, ["192.0.2.1"]],
    [{ a: "fails", aaaa: ["2001:db8::1"] }, ["2001:db8::1"]],
    [{ a: "absent", aaaa: ["2001:db8::1"] }, ["2001:db8::1"]],
    [{ a: [], aaaa: [] }, "ENOTFOUND"],
    [{ a: "fails", aaaa: "absent" }, "EAI_AGAIN"],
    ["absent", "ENOTFOUND"],
    ["fails", "EAI_AGAIN"],
    ["silent", "EAI_AGAIN"],
  ] as const)("addresses of a name with the records %j are: %j", async ([records, expected], { server, resolver }) => {
    server.names.set("some.example", records);
    expect(await (await resolver()).resolve("some.example")).toEqual(expected);
  });

  test("of thousands of addresses, only some are kept", async ({ server, resolver }) => {
    server.names.set("many.example", { a: Array.from({ length: 30 }, (_, n) => `192.0.2.${n}`) });
    expect(await (await resolver()).resolve("many.example")).toHaveLength(8);
  });

  test.for([
    ["localhost", ["127.0.0.1", "::1"]],
    ["api.localhost", ["127.0.0.1", "::1"]],
    ["192.0.2.9", ["192.0.2.9"]],
    ["[2001:db8::1]", ["2001:db8::1"]],
    ["x.invalid", "ENOTFOUND"],
  ] as const)("no name server is asked for %s", async ([name, expected], { server, resolver }) => {
    expect(await (await resolver()).resolve(name)).toEqual(expected);
    expect(server.asked).toEqual([]);
  });
});

describe("short names", () => {
  const conf = (ndots: number) => `nameserver 192.0.2.53\nsearch one.example two.example.\noptions edns0 ndots:${ndots}\n`;

  test.for([
    ["redis", 1, ["redis.one.example", "redis.two.example", "redis"]],
    ["redis", 0, ["redis", "redis.one.example", "redis.two.example"]],
    ["svc.ns", 5, ["svc.ns.one.example", "svc.ns.two.example", "svc.ns"]],
    ["svc.ns", 1, ["svc.ns", "svc.ns.one.example", "svc.ns.two.example"]],
    ["svc.ns.", 5, ["svc.ns"]],
  ] as const)("short names are completed by the search domains: %s with ndots %i", async ([name, ndots, full], { server, resolver }) => {
    const { resolve } = await resolver({ resolvConf: conf(ndots) });
    expect(await resolve(name)).toBe("ENOTFOUND");
    expect(server.askedNames).toEqual(full);
  });

  test("the search domains are read again after they have changed", async ({ server, resolver }) => {
    const { resolve, clock, files } = await resolver({ resolvConf: "search one.example" });
    await resolve("api");
    await writeFile(files.resolvConf, "search three.example");
    clock.ms += 2_000;
    await resolve("api");
    expect(server.askedNames).toEqual(["api.one.example", "api", "api.three.example"]);
  });

  test("a name is not looked for under another domain after a silence", async ({ server, resolver }) => {
    server.names.set("api.one.example", "silent");
    server.names.set("api.two.example", { a: ["192.0.2.1"] });
    expect(await (await resolver({ resolvConf: conf(1) })).resolve("api")).toBe("EAI_AGAIN");
  });

  test("a name server that fails for one domain is no obstacle to the next", async ({ server, resolver }) => {
    server.names.set("api.one.example", "fails");
    server.names.set("api.two.example", { a: ["192.0.2.1"] });
    expect(await (await resolver({ resolvConf: conf(1) })).resolve("api")).toEqual(["192.0.2.1"]);
  });

  test.for([
    ["printer", "absent", true],
    ["printer.local", "absent", true],
    ["printer.example", "absent", false],
    ["printer", "silent", false],
  ] as const)("the system's resolver is asked for %s when name servers say %s: %s", async ([name, reply, asked], { server, resolver }) => {
    server.names.set(name, reply);
    const looked: string[] = [];
    const systemLookup: SystemLookup = async (_workspaceId, hostname) => {
      looked.push(hostname);
      return { kind: "found", addresses: [{ address: "192.0.2.7", family: 4 }] };
    };
    const { resolve } = await resolver({ systemLookup });
    expect(await resolve(name)).toEqual(asked ? ["192.0.2.7"] : expect.any(String));
    expect(looked).toEqual(asked ? [name] : []);
  });
});

describe("/etc/hosts", () => {
  test("/etc/hosts comes before name servers", async ({ server, resolver }) => {
    const { resolve } = await resolver({
      hosts: "192.0.2.1 a.example  A.alias # comment\n\n2001:db8::1\ta.example\n#192.0.2.3 b.example\nx c\n",
    });
    expect(await resolve("a.example")).toEqual(["192.0.2.1", "2001:db8::1"]);
    expect(await resolve("a.alias")).toEqual(["192.0.2.1"]);
    expect(server.asked).toEqual([]);
    expect(await resolve("b.example")).toBe("ENOTFOUND");
  });

  test("/etc/hosts may say what localhost is", async ({ resolver }) => {
    expect(await (await resolver({ hosts: "127.0.0.1 localhost" })).resolve("localhost")).toEqual(["127.0.0.1"]);
  });

  test("/etc/hosts is read again after it has changed, within two seconds", async ({ resolver }) => {
    const { resolve, clock, files } = await resolver({ hosts: "192.0.2.1 a.example" });
    expect(await resolve("a.example")).toEqual(["192.0.2.1"]);
    await writeFile(files.hosts, "192.0.2.22 a.example");
    clock.ms += 1_999;
    expect(await resolve("a.example")).toEqual(["192.0.2.1"]);
    clock.ms += 1;
    expect(await resolve("a.example")).toEqual(["192.0.2.22"]);
  });
});

describe("what is known", () => {
  test("a known name is resolved at once, until its time to live is over", async ({ server, resolver }) => {
    server.names.set("a.example", { a: ["192.0.2.1"], ttlSeconds: 2 });
    const { names, clock } = await resolver();
    const found = await names.resolve(OURS, "a.example");
    clock.ms += 1_999;
    expect(names.resolve(OTHER, "a.example")).toBe(found);
    clock.ms += 1;
    server.names.set("a.example", { a: ["192.0.2.2"] });
    expect(await names.resolve(OURS, "a.example")).toMatchObject({ addresses: [{ address: "192.0.2.2" }] });
  });

  test.for([
    [0, 1],
    [86_400, 300],
  ])("a time to live of %i s counts as %i s", async ([ttlSeconds = 0, counted = 0], { server, resolver }) => {
    server.names.set("a.example", { a: ["192.0.2.1"], ttlSeconds });
    const { resolve, clock } = await resolver();
    await resolve("a.example");
    clock.ms += counted * 1_000 - 1;
    await resolve("a.example");
    expect(server.asked).toHaveLength(2);
    clock.ms += 2_001;
    await resolve("a.example");
    expect(server.asked).toHaveLength(4);
  });

  test("a failure is known for a tenth of a second", async ({ server, resolver }) => {
    const { resolve, clock } = await resolver();
    expect(await resolve("new.example")).toBe("ENOTFOUND");
    server.names.set("new.example", { a: ["192.0.2.1"] });
    clock.ms += 99;
    expect(await resolve("new.example")).toBe("ENOTFOUND");
    clock.ms += 1;
    expect(await resolve("new.example")).toEqual(["192.0.2.1"]);
  });

  test("the last addresses are used for a minute while a name server fails, and not once it says that the name is gone", async ({
    server,
    resolver,
  }) => {
    server.names.set("a.example", { a: ["192.0.2.1"], ttlSeconds: 1 });
    const { resolve, clock } = await resolver();
    await resolve("a.example");
    server.names.set("a.example", "fails");
    clock.ms += 60_999;
    expect(await resolve("a.example")).toEqual(["192.0.2.1"]);
    clock.ms += 5_000;
    expect(await resolve("a.example")).toBe("EAI_AGAIN");
    server.names.set("b.example", { a: ["192.0.2.1"], ttlSeconds: 1 });
    await resolve("b.example");
    server.names.delete("b.example");
    clock.ms += 1_000;
    expect(await resolve("b.example")).toBe("ENOTFOUND");
  });

  test("a name with a private address fails, and that is known as briefly as any failure", async ({ server, resolver }) => {
    server.names.set("inner.example", { a: ["192.0.2.1", "10.0.0.1"] });
    const { names, clock } = await resolver({ allowed: ["192.0.2.0/24"] });
    expect(await names.resolve(OURS, "inner.example")).toMatchObject({ kind: "failed", error: { address: "10.0.0.1" } });
    server.names.set("inner.example", { a: ["192.0.2.1"] });
    clock.ms += 100;
    expect(await names.resolve(OURS, "inner.example")).toMatchObject({ addresses: [{ address: "192.0.2.1" }] });
  });

  test("a name under .invalid is not looked up, and takes the place of no other", async ({ server, resolver }) => {
    server.names.set("a.example", { a: ["192.0.2.1"] });
    const { names, resolve } = await resolver();
    await resolve("a.example");
    const asked = server.asked.length;
    for (let name = 0; name < 6_000; name += 1) expect(names.resolve(OTHER, `x${name}.invalid`)).toMatchObject({ kind: "failed" });
    expect(await resolve("a.example")).toEqual(["192.0.2.1"]);
    expect(server.asked).toHaveLength(asked);
  });
});

describe("the share of a workspace", () => {
  test("look-ups of a name at the same time are one, for all workspaces", async ({ server, resolver }) => {
    server.names.set("a.example", { a: ["192.0.2.1"] });
    const { resolve } = await resolver();
    await Promise.all([OURS, OURS, OTHER].map((workspaceId) => resolve("a.example", workspaceId)));
    expect(server.asked).toHaveLength(2);
  });

  test("180 names that are never answered hold up no name of another workspace", async ({ server, resolver }) => {
    const hanging = Array.from({ length: 180 }, (_, n) => `x${n}.example`);
    for (const name of hanging) server.names.set(name, "silent");
    server.names.set("a.example", { a: ["192.0.2.1"] });
    const { resolve, share } = await resolver({ tries: 2 });
    const theirs = hanging.map((name) => resolve(name, OTHER));
    await until(() => share.total === 180, "the look-ups to be under way");
    expect(await resolve("a.example")).toEqual(["192.0.2.1"]);
    expect(share.total).toBe(180);
    expect(new Set(await Promise.all(theirs))).toEqual(new Set(["EAI_AGAIN"]));
    expect(share.total).toBe(0);
  });

  test("a workspace whose share is in use waits for its turn, and another does not", async ({ server, resolver }) => {
    for (const name of ["x1.example", "x2.example", "x3.example", "x4.example"]) server.names.set(name, "silent");
    server.names.set("a.example", { a: ["192.0.2.1"] });
    const { resolve, share } = await resolver({ capacity: 4 });
    const theirs = ["x1.example", "x2.example", "x3.example", "x4.example"].map((name) => resolve(name, OTHER));
    await until(() => share.total === 3 && share.waiting === 1, "a look-up to wait");
    expect(await resolve("a.example")).toEqual(["192.0.2.1"]);
    expect(await Promise.all(theirs)).toEqual(theirs.map(() => "EAI_AGAIN"));
    expect(server.askedNames).toContain("x4.example");
  });

  test("a look-up that gets no turn is refused, and is no failure of the name", async ({ server, resolver }) => {
    server.names.set("x1.example", "silent");
    server.names.set("x2.example", "silent");
    server.names.set("a.example", { a: ["192.0.2.1"] });
    const { resolve, share } = await resolver({ capacity: 2, maxWaitMs: 1 });
    const theirs = ["x1.example", "x2.example"].map((name) => resolve(name, OTHER));
    await until(() => share.total === 2, "the look-ups to be under way");
    await expect(resolve("a.example", OTHER)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await Promise.all(theirs);
    expect(await resolve("a.example", OTHER)).toEqual(["192.0.2.1"]);
  });
});

describe("this node's own name server", () => {
  test("a name was not looked up when no name server can be reached", async ({ resolver }) => {
    const { resolve } = await resolver({ servers: [`127.0.0.1:${await closedPort()}`] });
    expect(await resolve("a.example")).toBe("LOOKUP_NOT_RUN");
  });

  test("a name was not looked up when the name server answers nothing at all", async ({ server, resolver }) => {
    for (const name of ["a.example", "localhost"]) server.names.set(name, "silent");
    expect(await (await resolver()).resolve("a.example")).toBe("LOOKUP_NOT_RUN");
  });

  test("a look-up that is given up holds its part of the share until it ends, and was not made when nothing is answered", async ({
    server,
    resolver,
  }) => {
    for (const name of ["a.example", "b.example"]) server.names.set(name, "silent");
    const { resolve, share } = await resolver({ maxLookupMs: 1 });
    expect(await resolve("a.example")).toBe("EAI_AGAIN");
    expect(share.total).toBe(1);
    await until(() => share.total === 0, "the look-up to end");
    server.names.set("localhost", "silent");
    const other = await resolver({ maxLookupMs: 1 });
    expect(await other.resolve("b.example")).toBe("LOOKUP_NOT_RUN");
  });

  test("a second name server answers for one that cannot be reached", async ({ server, resolver }) => {
    server.names.set("a.example", { a: ["192.0.2.1"] });
    const { resolve } = await resolver({ servers: [`127.0.0.1:${await closedPort()}`, server.address] });
    expect(await resolve("a.example")).toEqual(["192.0.2.1"]);
  });

  test("an answer that is too long for UDP is a failure of the name when the name server does not speak TCP", async ({
    server,
    resolver,
  }) => {
    server.names.set("long.example", "truncated");
    expect(await (await resolver()).resolve("long.example")).toBe("EAI_AGAIN");
  });
});
