import { describe, expect } from "vitest";
import { faultsOf } from "../harness/problem.ts";
import { test } from "../harness/service.ts";

const URL = "https://example.com/hook";
const A = "${{ secrets.A }}";

describe("a queue takes templates", () => {
  test("a queue takes templates in callback_url and in callback_headers, and shows them as they were sent", async ({ service }) => {
    const sent = {
      callback_url: `${URL}/${A}?key=\${{secrets.B}}`,
      callback_headers: { authorization: `Bearer ${A}`, "x-two": `${A}:\${{\tsecrets.B\t}}`, "x-none": "$ { { } } {{ secrets.A }}" },
    };
    const { callback_secret: _, ...created } = await service.ok("POST", "/v1/queues", { name: "q", ...sent });
    expect(created).toMatchObject(sent);
    expect(await service.ok("GET", "/v1/queues/q")).toMatchObject(sent);
    const changed = { callback_url: `${URL}?${A}`, callback_headers: { "X-Auth": A } };
    expect(await service.ok("PATCH", "/v1/queues/q", changed)).toMatchObject(changed);
  });

  test("a queue takes templates of secrets that do not exist yet", async ({ service }) => {
    expect((await service.api("POST", "/v1/queues", { name: "q", callback_url: `${URL}/\${{ secrets.NOT_YET }}` })).status).toBe(201);
  });
});

describe("a queue refuses a template", () => {
  const misplaced = /path and query alone/;
  test.for([
    ["in the host", { callback_url: `https://${A}/` }, "callback_url", misplaced],
    ["in the port", { callback_url: `https://example.com:${A}/` }, "callback_url", misplaced],
    ["in the scheme", { callback_url: `${A}://example.com/` }, "callback_url", misplaced],
    ["for the whole address", { callback_url: A }, "callback_url", misplaced],
    ["for the user", { callback_url: `https://${A}@example.com/` }, "callback_url", misplaced],
    ["in the fragment", { callback_url: `${URL}#${A}` }, "callback_url", misplaced],
    ["beside a user", { callback_url: `https://u:p@example.com/${A}` }, "callback_url", misplaced],
    ["at a refused host", { callback_url: `http://10.0.0.1/${A}` }, "callback_url", /10\.0\.0\.1/],
    ["without its end, in callback_url", { callback_url: `${URL}/\${{ secrets.A` }, "callback_url", /without }}/],
    ["of another namespace, in callback_url", { callback_url: `${URL}/\${{ env.HOME }}` }, "callback_url", /"env"/],
    [
      "without its end, in a header",
      { callback_headers: { "x-fine": A, "x-auth": "${{ secrets.A }" } },
      "callback_headers.x-auth",
      /without }}/,
    ],
    ["of another namespace, in a header", { callback_headers: { "X-Auth": "${{ vars.A }}" } }, "callback_headers.X-Auth", /"vars"/],
    [
      "without a name, in a header",
      { callback_headers: { "x-auth": "${{ secrets.lower }}" } },
      "callback_headers.x-auth",
      /names no secret/,
    ],
    [
      "within a template",
      { callback_headers: { "x-auth": "${{ secrets.${{ secrets.A }} }}" } },
      "callback_headers.x-auth",
      /names no secret/,
    ],
  ] as const)("a queue refuses a template %s", async ([, sent, path, says], { service }) => {
    const queue = await service.queue();
    const replies = [
      await service.api("POST", "/v1/queues", { name: "q", ...sent }),
      await service.api("PATCH", `/v1/queues/${queue}`, { paused: true, ...sent }),
    ];
    for (const reply of replies) {
      expect(faultsOf(reply, "VALIDATION_ERROR")).toEqual([]);
      expect(reply.body.error.details.issues).toEqual([{ path, message: expect.stringMatching(says) }]);
    }
    expect((await service.ok("GET", "/v1/queues")).data).toMatchObject([
      { name: queue, callback_url: null, callback_headers: {}, paused: false },
    ]);
  });
});
