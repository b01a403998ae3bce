import { JobAbortedError, type Logger, Worker, type WorkerJob, type WorkerOptions, workflow } from "@tidemill/sdk";
import { describe, expect, test as plain } from "vitest";
import { test } from "./harness/worker.ts";

const quiet = () => {};
const queues = { emails: quiet };

describe("a worker's options", () => {
  plain.for<[unknown, string]>([
    [{ queues: {} }, "Pass a handler for at least one queue"],
    [{ queues: { a: 1 } }, "queues.a must be a function, or an object with a handler."],
    [{ queues: { "a b": quiet } }, '"a b" is not a valid queue name. Use letters'],
    [
      { queues: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`q${n}`, quiet])) },
      "queues may have at most 100 entries, not 101.",
    ],
    [{ queues: { a: { handler: quiet, schema: {} } } }, "queues.a.schema must be a schema that follows Standard Schema"],
    [{ queues: { a: { handler: quiet, schma: {} } } }, "schma is not an option of queues.a. Did you mean schema?"],
    [{ queues, concurency: 5 }, "concurency is not an option of Worker. Did you mean concurrency?"],
    [{ queues, timeoutMs: 5 }, "timeoutMs is not an option of Worker."],
    [{ workflows: [{ id: "onboard" }] }, "workflows must be a list of what workflow() returns."],
    [{ workflows: workflow({ id: "onboard" }, quiet) }, "workflows must be a list of what workflow() returns."],
    [{ queues, concurrency: 0 }, "concurrency must be a whole number from 1 to 10000, not 0."],
    [{ queues, concurrency: Number.NaN }, "concurrency must be a whole number from 1 to 10000, not NaN."],
    [{ queues, concurrency: Number.POSITIVE_INFINITY }, "concurrency must be a whole number"],
    [{ queues, leaseSeconds: 0.5 }, "leaseSeconds must be a whole number from 1 to 43200, not 0.5."],
    [{ queues, stopTimeoutMs: -1 }, "stopTimeoutMs must be a number of milliseconds from 0 to 2147483647, not -1."],
    [{ queues, name: "" }, 'name must be a string of 1 to 128 characters, not "".'],
    [{ queues, name: "a\0" }, "name must be a string"],
    [{ queues, version: "v".repeat(65) }, "version must be a string of 1 to 64 characters"],
    [{ queues, signals: "SIGTERM" }, 'signals must be a list of signals such as "SIGTERM" that a process can catch, not "SIGTERM".'],
    [{ queues, signals: ["SIGKILL"] }, "signals must be a list of signals"],
    [{ queues, logger: { info: quiet, warn: quiet, error: quiet } }, "logger.debug must be a function."],
  ])("%j is refused: %s", ([options, message]) => {
    const make = () => new Worker({ url: "http://127.0.0.1:1", key: "svc_ws_a", ...(options as WorkerOptions) });
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
  });

  plain("may have a handler that is an object of a class, with members of its own", () => {
    class Mailer {
      readonly sender = "ada@example.com";
      handler() {}
    }
    const queues = { emails: new Mailer() } as unknown as NonNullable<WorkerOptions["queues"]>;
    expect(new Worker({ url: "http://127.0.0.1:1", key: "svc_ws_a", queues }).name).not.toBe("");
  });

  plain("may be left undefined", () => {
    const options = { queues, concurrency: undefined, logger: undefined, signals: undefined, name: "mailer" } as unknown as WorkerOptions;
    expect(new Worker({ url: "http://127.0.0.1:1", key: "svc_ws_a", ...options }).name).toBe("mailer");
  });
});

describe("a logger that fails", () => {
  const fail = () => {
    throw new Error("The disk is full.");
  };
  const reject = async () => fail();

  test.for<[string, Logger]>([
    ["throws", { debug: fail, info: fail, warn: fail, error: fail }],
    ["rejects", { debug: reject, info: reject, warn: reject, error: reject }],
  ])("because it %s does not keep jobs from being run", async ([, logger], { service, worker }) => {
    const queue = await service.queue();
    const handler = ({ log }: WorkerJob) => {
      log.debug("begun");
      return "done";
    };
    const one = worker({ [queue]: handler }, { logger });
    const { id } = await service.enqueue({ queue });
    await service.untilState({ queue, id }, "completed");
    await one.stop();
    expect(await service.job({ queue, id })).toMatchObject({ result: "done" });
    await one.done;
  });
});

plain("the reason of a signal says why it was aborted", () => {
  expect(new JobAbortedError("shutdown").message).toBe("The worker stops.");
});
