import { expect } from "vitest";
import { until } from "../../server/test/harness/service.ts";
import { answerForNow } from "./harness/answer.ts";
import { test } from "./harness/dashboard.ts";

const nightly = { name: "nightly", queue: "emails", cron: "30 2 * * *", timezone: "UTC" };

/** Browsers have Web Locks only over HTTPS and on localhost. */
test.for([
  ["with Web Locks", true],
  ["on plain HTTP, without them", false],
] as const)("a change is shown in two tabs, which have one stream, %s", async ([, hasLocks], { dashboard, service }) => {
  await service.ok("POST", "/v1/queues", { name: "emails" });
  await service.ok("POST", "/v1/schedules", nightly);
  const page = await dashboard.open("schedules/nightly");
  if (!hasLocks) {
    await page.context().addInitScript(() => Object.defineProperty(navigator, "locks", { value: undefined }));
    await page.reload();
  }
  await page.locator("[data-state=live]:visible").waitFor();
  const other = await page.context().newPage();
  const asked: string[] = [];
  other.on("request", (request) => asked.push(request.url()));
  await other.goto(page.url());
  await other.locator("[data-state=live]:visible").waitFor();
  await service.ok("PATCH", "/v1/schedules/nightly/pause");
  for (const tab of [page, other]) await tab.getByText("paused", { exact: true }).waitFor();
  expect(asked.filter((url) => url.endsWith("/v1/live"))).toEqual([]);

  // The other tab gets the stream, and asks for what it may have missed.
  await page.close();
  await until(() => asked.some((url) => url.endsWith("/v1/live")), "the other tab to open the stream");
  await service.ok("PATCH", "/v1/schedules/nightly/resume");
  await other.getByText("active", { exact: true }).waitFor();
});

test("pages ask from time to time where the stream is refused or blocked, and say so", async ({ dashboard, service }) => {
  await service.ok("POST", "/v1/queues", { name: "emails" });
  await service.ok("POST", "/v1/schedules", nightly);
  const page = await dashboard.open("schedules/nightly");
  const recover = await answerForNow(page.context(), "**/v1/live", { status: 503, headers: { "retry-after": "1" }, body: "{}" });
  await page.reload();
  await page.locator("[data-state=polling]:visible").waitFor();
  await service.ok("PATCH", "/v1/schedules/nightly/pause");
  await page.getByText("paused", { exact: true }).waitFor();
  recover();
  await page.locator("[data-state=live]:visible").waitFor();
});

test("a stream that falls silent is no longer called live, nor one of a machine without a network", async ({ dashboard }) => {
  const page = await dashboard.open("workers");
  await page.clock.install();
  await page.reload();
  const live = page.locator("[data-state=live]:visible");
  await live.waitFor();
  await page.context().setOffline(true);
  await page.locator("[data-state=offline]:visible").waitFor();
  await page.context().setOffline(false);
  await live.waitFor();
  await page.context().route("**/v1/live", (route) => route.abort());
  await page.clock.fastForward(25_000);
  await page.locator("[data-state=offline]:visible").waitFor();
});
