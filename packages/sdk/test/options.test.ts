import { Tidemill, verifyCallback, verifyWebhook } from "@tidemill/sdk";
import { afterEach, describe, expect, test, vi } from "vitest";

const KEY = "svc_ws_abcdefghijklmnopqrstuvwxyz0123454WTnwY";
const URL_ = "http://127.0.0.1:8080";

afterEach(() => vi.unstubAllEnvs());

/** The address that a client sends a request to. */
async function addressOf(options: { url?: string; key?: string } = {}): Promise<string> {
  let address = "";
  const fetch: typeof globalThis.fetch = async (input, init) => {
    address = `${String(input)} ${new Headers(init?.headers).get("authorization")}`;
    return new Response("{}");
  };
  await new Tidemill({ ...options, fetch }).status();
  return address;
}

describe("a client's options", () => {
  test("url and key come from the environment", async () => {
    vi.stubEnv("TIDEMILL_URL", "https://tidemill.example.com");
    vi.stubEnv("TIDEMILL_KEY", KEY);
    expect(await addressOf()).toBe(`https://tidemill.example.com/v1/status Bearer ${KEY}`);
  });

  test("options go before the environment", async () => {
    vi.stubEnv("TIDEMILL_URL", "https://tidemill.example.com");
    vi.stubEnv("TIDEMILL_KEY", "other");
    expect(await addressOf({ url: URL_, key: KEY })).toBe(`${URL_}/v1/status Bearer ${KEY}`);
  });

  test("responses can be parsed so that large numbers keep their digits", async () => {
    const fetch = async () => new Response('{"payload":12345678901234567890}');
    const parseJson = (text: string) => JSON.parse(text.replace(/:(\d+)/, ':"$1"'));
    const job = await new Tidemill({ url: URL_, key: KEY, fetch, parseJson }).queue("emails").jobs.get("job_1");
    expect(job.payload).toBe("12345678901234567890");
  });

  test("a response that the given parser refuses is an error", async () => {
    const fetch = async () => new Response("{}");
    const parseJson = () => {
      throw new SyntaxError("no");
    };
    await expect(new Tidemill({ url: URL_, key: KEY, fetch, parseJson }).status()).rejects.toMatchObject({ code: "UNEXPECTED_RESPONSE" });
  });

  test("a service may be below a path", async () => {
    expect(await addressOf({ url: "https://example.com/tidemill/", key: KEY })).toBe(
      `https://example.com/tidemill/v1/status Bearer ${KEY}`,
    );
  });

  test("of a call and of a queue are checked as well", async () => {
    const tidemill = new Tidemill({ url: URL_, key: KEY });
    expect(() => tidemill.queue("emails", { schema: {} as never })).toThrow("schema must be a schema that follows Standard Schema");
    expect(() => tidemill.queue("emails", { schem: {} } as never)).toThrow("schem is not an option of a queue. Did you mean schema?");
    const misspelt = { timeout: 5 } as never;
    const message = "timeout is not an option of a call. Did you mean timeoutMs?";
    const calls: (() => PromiseLike<unknown>)[] = [
      () => tidemill.status(misspelt),
      () => tidemill.queues.list({}, misspelt),
      () => tidemill.queue("emails").enqueue(1, {}, misspelt),
      () => tidemill.queue("emails").enqueueMany([{ payload: 1 }], misspelt),
      () => tidemill.signals.complete("s", 1, misspelt),
    ];
    for (const call of calls) await expect(Promise.resolve().then(call)).rejects.toThrow(message);
    await expect(tidemill.events.send("a", 1, { idempotencykey: "k" } as never)).rejects.toThrow(
      "idempotencykey is not an option of events.send. Did you mean idempotencyKey?",
    );
    await expect(tidemill.status({ timeoutMs: -1 })).rejects.toThrow("timeoutMs must be a number of milliseconds from 1");
  });

  test("a runtime without process.env needs both options", async () => {
    vi.stubGlobal("process", undefined);
    try {
      expect(() => new Tidemill({ key: KEY })).toThrow("url is required: pass { url }, or set TIDEMILL_URL.");
      expect(await addressOf({ url: URL_, key: KEY })).toContain(URL_);
    } finally {
      vi.unstubAllGlobals();
    }
  });

  test.for([
    [{ key: KEY }, "url is required: pass { url }, or set TIDEMILL_URL."],
    [{ url: URL_ }, "key is required: pass { key }, or set TIDEMILL_KEY."],
    [{ url: URL_, key: "" }, "key must be a workspace key"],
    [{ url: URL_, key: `${KEY}\n` }, "key must be a workspace key"],
    [{ url: "tidemill.example.com", key: KEY }, 'url must be an http or https URL, not "tidemill.example.com".'],
    [{ url: "ftp://example.com", key: KEY }, "url must be an http or https URL"],
    [{ url: "https://ada:secret@example.com", key: KEY }, "url must not contain a user or password"],
    [{ url: "https://example.com?x=1", key: KEY }, "url must not contain a query or a fragment."],
    [{ url: "https://example.com/?", key: KEY }, "url must not contain a query or a fragment."],
    [{ url: "https://example.com/#", key: KEY }, "url must not contain a query or a fragment."],
    [{ url: new URL(URL_) as never, key: KEY }, "url must be an http or https URL"],
    [{ url: "", key: KEY }, 'url must be an http or https URL, not "".'],
    [{ url: URL_, key: 5 as never }, "key must be a workspace key"],
    [{ url: URL_, key: "svc ws" }, "key must be a workspace key"],
    [{ url: URL_, key: KEY, foo: 1 } as never, "foo is not an option of Tidemill."],
    [{ url: URL_, key: KEY, retryformS: 1 } as never, "retryformS is not an option of Tidemill. Did you mean retryForMs?"],
    [{ url: URL_, key: KEY, timeoutMs: Number.NaN }, "timeoutMs must be a number of milliseconds from 1 to 2147483647, not NaN."],
    [{ url: URL_, key: KEY, timeoutMs: Number.POSITIVE_INFINITY }, "timeoutMs must be a number of milliseconds"],
    [{ url: URL_, key: KEY, retryForMs: "1" as never }, "retryForMs must be a number of milliseconds from 0"],
    [{ url: URL_, key: KEY, batching: "no" as never }, 'batching must be a boolean, not "no".'],
    [{ url: URL_, key: KEY, fetch: 1 as never }, "fetch must be a function, not 1."],
    [{ url: URL_, key: KEY, parseJson: {} as never }, "parseJson must be a function, not {}."],
    [{ url: URL_, key: KEY, timeoutMs: 0 }, "timeoutMs must be a number of milliseconds from 1 to 2147483647, not 0."],
    [{ url: URL_, key: KEY, retryForMs: -1 }, "retryForMs must be a number of milliseconds from 0"],
  ] as const)("%j is refused: %s", ([options, message]) => {
    vi.stubEnv("TIDEMILL_URL", "");
    vi.stubEnv("TIDEMILL_KEY", "");
    expect(() => new Tidemill(options)).toThrow(TypeError);
    expect(() => new Tidemill(options)).toThrow(message);
  });
});

describe("an argument that is missing", () => {
  const tidemill = new Tidemill({ url: URL_, key: KEY, fetch: () => Promise.reject(new Error("Something was sent.")), retryForMs: 0 });
  const queue = tidemill.queue("emails");

  test.for<[string, () => unknown, string]>([
    ["options of a job", () => queue.enqueue(1, null as never), "The options of enqueue must be an object, not null."],
    ["jobs", () => queue.enqueueMany(undefined as never), "enqueueMany needs an array of jobs, each { payload, … }."],
    ["a job of several", () => queue.enqueueMany([null as never]), "jobs[0] must be an object, not null."],
    ["a callback", () => verifyCallback(null as never, "cbs_1"), "A request to verify is a Request of the Fetch API, or { headers, body }"],
    ["the headers of one", () => verifyCallback({ body: "" } as never, "cbs_1"), "A request to verify is a Request"],
    ["the secret of a webhook", () => verifyWebhook({ headers: {}, body: "" }, undefined as never), "A webhook secret is required"],
  ])("is named, and nothing is sent: %s", async ([, call, says]) => {
    const error = await Promise.resolve(call()).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TypeError);
    expect((error as TypeError).message).toContain(says);
  });
});
