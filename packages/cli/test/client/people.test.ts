import { expect } from "vitest";
import { newPerson } from "../../../server/test/harness/people.ts";
import { readRows } from "../output.ts";
import { test } from "./client.ts";

test("keys of the workspace are created, listed and revoked", async ({ command, service }) => {
  const queue = await service.queue();
  const created = await command.json("key", "create", "--name", "mailer", "--role", "worker", "--queues", queue);
  expect(created).toMatchObject({ name: "mailer", role: "worker", queues: [queue], key: expect.stringMatching(/^svc_ws_/) });
  const listed = { ID: created.id, NAME: "mailer", ROLE: "worker" };
  expect(readRows(await command.output("key", "list"))).toContainEqual(expect.objectContaining(listed));
  expect(await command.run("queue", "list", "--key", created.key)).toMatchObject({ code: 3 });
  expect(await command.json("key", "revoke", created.id)).toEqual({ id: created.id, revoked: true });
  expect(await command.run("key", "revoke", created.id)).toMatchObject({ code: 4 });
  expect(await command.run("key", "create", "--name", "x", "--role", "reader")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("admin, write, read, worker"),
  });
});

test("people are invited, and invitations are listed and revoked", async ({ command }) => {
  const created = await command.json("invitation", "create", "--role", "write", "--email", "ada@example.com");
  expect(created).toMatchObject({ role: "write", email: "ada@example.com", url: expect.stringContaining("/dashboard/link/") });
  expect(readRows(await command.output("invitation", "list"))).toMatchObject([{ ID: created.id, EMAIL: "ada@example.com" }]);
  expect(await command.json("invitation", "revoke", created.id)).toEqual({ id: created.id, revoked: true });
  expect(await command.json("invitation", "list")).toEqual([]);
  expect(await command.run("invitation", "create")).toMatchObject({ code: 1, stderr: expect.stringContaining("--role") });
});

test("members are listed, changed and removed", async ({ command, service }) => {
  await newPerson(service);
  const { id } = await newPerson(service, { role: "read" });
  expect(await command.json("member", "update", id, "--role", "write")).toMatchObject({ role: "write" });
  expect(readRows(await command.output("member", "list"))).toContainEqual(expect.objectContaining({ ID: id, ROLE: "write" }));
  expect(await command.run("member", "remove", id)).toMatchObject({ code: 1, stderr: expect.stringContaining("--yes") });
  expect(await command.json("member", "remove", id, "--yes")).toEqual({ id, removed: true });
  expect(await command.run("member", "update", id, "--role", "read")).toMatchObject({ code: 4 });
});
