import { expect } from "vitest";
import { Listener } from "#kernel";
import { test } from "../harness/engine.ts";
import { until } from "../harness/service.ts";

test("a listener hears from its start on, and tells of a gap after each reconnect and at no other time", async ({
  database,
  onTestFinished,
}) => {
  const heard: string[] = [];
  let gaps = 0;
  const listener = new Listener({
    connection: { connectionString: database.url },
    channel: "heard",
    emit: () => {},
    onMessage: (payload) => heard.push(payload),
    onGap: () => {
      gaps += 1;
    },
  });
  await listener.start();
  onTestFinished(() => listener.stop());
  const say = (payload: string) => database.query("select pg_notify('heard', $1)", [payload]);
  await say("one");
  await until(() => heard.length === 1, "the first message");
  expect(gaps).toBe(0);
  await database.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like 'listen %'",
  );
  await until(() => gaps === 1, "the listener to connect again");
  await say("two");
  await until(() => heard.length === 2, "the second message");
  expect([heard, gaps]).toEqual([["one", "two"], 1]);
});

test("a listener whose start found no database tells of a gap once it is there", async ({ database, onTestFinished }) => {
  let gaps = 0;
  const connection = { connectionString: database.url.replace(database.name, "not_there_yet") };
  const listener = new Listener({
    connection,
    channel: "heard",
    emit: () => {},
    onMessage: () => {},
    onGap: () => {
      gaps += 1;
    },
  });
  await listener.start();
  onTestFinished(() => listener.stop());
  expect(gaps).toBe(0);
  connection.connectionString = database.url;
  await until(() => gaps === 1, "the listener to connect");
});

test("a listener stops though its server is frozen", async ({ database, onTestFinished }) => {
  const listener = new Listener({
    connection: { connectionString: database.url },
    channel: "frozen",
    emit: () => {},
    onMessage: () => {},
    onGap: () => {},
  });
  await listener.start();
  const [backend] = await database.query<{ pid: number }>("select pid from pg_stat_activity where query = 'listen \"frozen\"'");
  if (!backend) throw new Error("Nobody listens.");
  onTestFinished(() => void process.kill(backend.pid, "SIGCONT"));
  process.kill(backend.pid, "SIGSTOP");
  await listener.stop();
});
