import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { TLSSocket } from "node:tls";
import { openDatabases, readConfig } from "@tidemill/server";
import { expect, onTestFinished } from "vitest";
import { rows, sql, withTlsMode } from "#kernel";
import { divideConnections } from "../../src/databases.ts";
import { CERTIFICATE, KEY } from "../harness/broken-tls.ts";
import { test } from "../harness/engine.ts";

test.for([
  [24, "beside the loops that keep tables small"],
  [8, "in turns with them, so that settles have a connection"],
] as const)("with %i connections, a count of all jobs runs %s", async ([connections], { database }) => {
  const config = readConfig({ DATABASE_URL: database.url, TIDEMILL_DATABASE_CONNECTIONS: String(connections) });
  const databases = await openDatabases(config, "guest", () => {});
  onTestFinished(() => databases.close());
  let hasCounted = false;
  let isBeside = false;
  const counted = Promise.withResolvers<void>();
  const counting = databases.recounts.transaction(async (tx) => {
    await rows(tx, sql`select 1`);
    await counted.promise;
    hasCounted = true;
  });
  const sweeping = rows(databases.housekeeping, sql`select 1`).then(() => {
    isBeside = !hasCounted;
  });
  await rows(databases.engine, sql`select 1`);
  if (connections === 24) await sweeping;
  counted.resolve();
  await Promise.all([counting, sweeping]);
  expect(isBeside).toBe(connections === 24);
});

test("the connections of requests are opened together: to authenticate, to store jobs, and for the rows of workspaces", async ({
  database,
}) => {
  const config = readConfig({ DATABASE_URL: database.url });
  const databases = await openDatabases(config, "guest", () => {});
  onTestFinished(() => databases.close());
  await databases.openForRequests();
  const { api, writes, tenants } = divideConnections(config);
  expect(
    await database.query(
      "select count(*)::int as open from pg_stat_activity where datname = current_database() and application_name = 'tidemill'",
    ),
  ).toEqual([{ open: api + writes + tenants }]);
});

/** The port of a server that answers a client's wish for TLS as PostgreSQL does, with a certificate that nobody trusts if it agrees. */
async function tlsPort(answer: "S" | "N"): Promise<number> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write(answer);
      if (answer === "S") new TLSSocket(socket, { isServer: true, key: KEY, cert: CERTIFICATE }).on("error", () => {});
    });
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

test.for([
  ["S", /does not know the authority that signed the server's certificate \(DEPTH_ZERO_SELF_SIGNED_CERT\)\. .*sslrootcert=.*no-verify/],
  ["N", /the server does not offer TLS/],
] as const)("a server that answers %s to a client that wants TLS cannot be used, and the error says what to do", async ([answer, says]) => {
  const config = readConfig({ DATABASE_URL: `postgres://u@127.0.0.1:${await tlsPort(answer)}/db?sslmode=require` });
  await expect(openDatabases(config, "guest", () => {})).rejects.toThrow(says);
});

test.for([
  ["postgres://h/db?sslmode=require", "postgres://h/db?sslmode=verify-full"],
  ["postgres://h/db?a=1&sslmode=prefer&b=2", "postgres://h/db?a=1&sslmode=verify-full&b=2"],
  ["postgres://h/db?sslmode=no-verify", "postgres://h/db?sslmode=no-verify"],
  ["postgres://h/db?sslmode=require&uselibpqcompat=true", "postgres://h/db?sslmode=require&uselibpqcompat=true"],
  ["postgres://h/db", "postgres://h/db"],
] as const)("the URL %s is read as %s", ([given, read]) => expect(withTlsMode(given)).toBe(read));
