import { beforeEach, describe, expect, test } from "vitest";
import { type Service, Services } from "#kernel";

let events: string[];
let failures: unknown[];

beforeEach(() => {
  events = [];
  failures = [];
});

/** A service that records what is asked of it, and may fail. */
const service = (name: string, { start = () => {}, stop = async () => {} }: Partial<Service> = {}): Service => ({
  start: async () => {
    events.push(`start ${name}`);
    await start();
  },
  stop: async () => {
    events.push(`stop ${name}`);
    await stop();
  },
  wake: () => void events.push(`wake ${name}`),
});

/** The same of one that other nodes announce work to. */
const informed = (name: string): Service => ({ ...service(name), missed: () => void events.push(`missed ${name}`) });

const servicesOf = (...list: (Service | Service[])[]) => new Services(list, (error) => failures.push(error));

const fail = (message: string) => async () => {
  throw new Error(message);
};

describe("services", () => {
  test("services start in order, and stop in the opposite order", async () => {
    const services = servicesOf(service("a"), service("b"), service("c"));
    await services.start();
    await services.stop();
    expect(events).toEqual(["start a", "start b", "start c", "stop c", "stop b", "stop a"]);
  });

  test("services of a group stop together, and those before them once all have stopped", async () => {
    const held = Promise.withResolvers<void>();
    const services = servicesOf(service("a"), [service("b"), service("c", { stop: () => held.promise })]);
    await services.start();
    const stopping = services.stop();
    expect(events.slice(3)).toEqual(["stop b", "stop c"]);
    held.resolve();
    await stopping;
    expect(events.at(-1)).toBe("stop a");
  });

  test("services that started are stopped when one fails to start, and its error is thrown", async () => {
    const services = servicesOf(service("a"), service("b", { start: fail("no port") }), service("c"));
    await expect(services.start()).rejects.toThrow("no port");
    expect(events).toEqual(["start a", "start b", "stop b", "stop a"]);
  });

  test("services stop although one of them fails to, which is reported", async () => {
    const services = servicesOf(service("a"), [service("b", { stop: fail("stuck") }), service("c")]);
    await services.start();
    await services.stop();
    expect(events.slice(3)).toEqual(["stop b", "stop c", "stop a"]);
    expect(failures).toEqual([new Error("stuck")]);
  });

  test("services that have stopped are not stopped again", async () => {
    const services = servicesOf(service("a"));
    await services.start();
    await services.stop();
    await services.stop();
    expect(events).toEqual(["start a", "stop a"]);
  });

  test("services are woken all at once", async () => {
    const services = servicesOf(service("a"), [service("b")]);
    services.wake();
    expect(events).toEqual(["wake a", "wake b"]);
  });

  test("services to which nobody announces work are not woken when messages may be lost", async () => {
    const services = servicesOf(service("a"), [informed("b"), service("c")], informed("d"));
    services.missed();
    expect(events).toEqual(["missed b", "missed d"]);
  });
});
