import { expect } from "vitest";
import { test } from "../harness/service.ts";

test.for([
  { table: "lane", method: "POST", path: "/v1/queues", body: { name: "unlucky" } },
  { table: "job", method: "POST", path: "/v1/queues/emails/jobs", body: { payload: 1 } },
])(
  "a request whose transaction was rolled back, as in a deadlock, may be tried again: a new $table",
  async ({ table, ...request }, { service, database }) => {
    await service.ok("POST", "/v1/queues", { name: "emails" });
    await database.query(`create function unlucky() returns trigger language plpgsql as
    $$ begin raise exception 'deadlock detected' using errcode = '40P01'; end $$`);
    await database.query(`create trigger unlucky before insert on ${table} for each row execute function unlucky()`);
    const { status, headers, body } = await service.api(request.method, request.path, request.body);
    await database.query("drop function unlucky cascade");
    expect([status, headers.get("retry-after"), body.error]).toEqual([
      503,
      "1",
      { code: "UNAVAILABLE", message: "The transaction conflicted with another one and was rolled back. Try again.", details: {} },
    ]);
    expect((await service.api(request.method, request.path, request.body)).status).toBe(201);
  },
);
