import { expect } from "vitest";
import { migrate } from "#kernel";
import { test } from "../harness/stage.ts";

test("a database that has a later migration gets one that came after it", async ({ stage }) => {
  const database = await stage.database();
  const names: unknown[] = [];
  await database.query("drop function latest_attempts, add_attempt");
  await database.query("delete from migration where name = '0034_bounded_attempts'");
  await migrate({ connectionString: database.url }, (_event, fields) => void names.push(fields));
  expect(names).toEqual([{ names: ["0034_bounded_attempts"] }]);
  expect(await database.query("select add_attempt('1', '2') as log")).toEqual([{ log: "1,2" }]);
});
