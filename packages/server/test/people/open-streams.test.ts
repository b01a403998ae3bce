import { createHash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { expect } from "vitest";
import { systemRandom, type UuidSource } from "#kernel";
import type { AccountLog } from "../../src/people/account-log.ts";
import { TokenCookie } from "../../src/people/sessions/cookie.ts";
import type { KnownDevices } from "../../src/people/sessions/known-devices.ts";
import { Sessions } from "../../src/people/sessions/sessions.ts";
import { test } from "../harness/engine.ts";
import { newPerson } from "../harness/people.ts";

test("a stream that is open does not keep its session in use", async ({ service, engine, database, clock }) => {
  const { cookie } = await newPerson(service);
  const sessions = new Sessions({
    database: engine,
    random: systemRandom,
    ids: {} as UuidSource,
    cookie: new TokenCookie("session", { path: "", secure: false }),
    publicOrigin: null,
    account: {} as AccountLog,
    devices: {} as KnownDevices,
    emit: () => {},
    onPersonChanged: () => {},
  });
  const request = { headers: { cookie }, person: null } as FastifyRequest;
  const hash = createHash("sha256")
    .update(cookie.split("=")[1] ?? "")
    .digest();
  const usedAt = async () =>
    (await database.query<{ at: string }>("select last_used_at::text as at from session where token_hash = $1", [hash]))[0]?.at;
  const authenticate = async () => {
    request.person = (await sessions.authenticate(request, { kind: "workspace", id: service.workspaceId })).person;
  };
  await clock.advance(120);
  const before = await usedAt();
  await authenticate();
  const used = await usedAt();
  expect(used).not.toBe(before);
  await clock.advance(120);
  await authenticate();
  expect(await usedAt()).toBe(used);
});
