import { expect } from "vitest";
import { newPerson } from "../../server/test/harness/people.ts";
import { until } from "../../server/test/harness/service.ts";
import { test } from "./harness/dashboard.ts";

const takes = (service: { ok(method: string, path: string, body: unknown): Promise<unknown> }, worker: string) =>
  service.ok("POST", "/v1/work", { worker, queues: ["emails"], limit: 1 });

test("a change is shown in two tabs, which have one stream", async ({ dashboard, service }) => {
  await service.ok("POST", "/v1/queues", { name: "emails" });
  const page = await dashboard.open("workers");
  await page.locator("[data-state=live]:visible").waitFor();
  const other = await page.context().newPage();
  const asked: string[] = [];
  other.on("request", (request) => asked.push(request.url()));
  await other.goto(page.url());
  await other.locator("[data-state=live]:visible").waitFor();
  await takes(service, "first");
  for (const tab of [page, other]) await tab.getByText("first", { exact: true }).waitFor({ timeout: 10_000 });
  expect(asked.filter((url) => url.endsWith("/v1/live"))).toEqual([]);

  // The other tab gets the stream, and asks for what it may have missed.
  await page.close();
  await until(() => asked.some((url) => url.endsWith("/v1/live")), "the other tab to open the stream");
  await takes(service, "second");
  await other.getByText("second", { exact: true }).waitFor({ timeout: 10_000 });
});

test("pages ask from time to time where the stream is refused or blocked, and say so", async ({ dashboard, service }) => {
  await service.ok("POST", "/v1/queues", { name: "emails" });
  const page = await dashboard.open("/", { as: await newPerson(service) });
  await page.context().route("**/v1/live", (route) => route.fulfill({ status: 503, headers: { "retry-after": "1" }, body: "{}" }));
  await page.getByRole("link", { name: "Workers" }).click();
  await page.reload();
  await page.locator("[data-state=polling]:visible").waitFor();
  await takes(service, "polled");
  await page.getByText("polled", { exact: true }).waitFor({ timeout: 15_000 });
  await page.context().unroute("**/v1/live");
  await page.locator("[data-state=live]:visible").waitFor({ timeout: 15_000 });
});
