import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { answer } from "./harness/answer.ts";
import { test } from "./harness/dashboard.ts";
import { longRun, runsPage } from "./harness/long-records.ts";

const MAX_ROW_ELEMENTS = 200;

const countRows = (page: Page) => page.locator("[data-row]").count();

const nextFrames = (page: Page) =>
  page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
const heightOf = (page: Page) => page.evaluate(() => document.documentElement.scrollHeight);
const scrollDown = (page: Page) => page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));

/** Scrolls to the end, until there is nothing more to load. Returns the most row elements that there were at once. */
async function scrollToEnd(page: Page, lastRow: string): Promise<number> {
  let most = 0;
  const last = page.locator(lastRow);
  while ((await last.count()) === 0) {
    await scrollDown(page);
    await nextFrames(page);
    most = Math.max(most, await countRows(page));
  }
  return most;
}

/** Scrolls to the last row, so that one more page is loaded. */
async function loadPage(page: Page): Promise<void> {
  const before = await heightOf(page);
  await scrollDown(page);
  while ((await heightOf(page)) === before) await nextFrames(page);
}

/**
 * Has the browser count how often each block of the page's scripts runs. Only what is compiled afterwards is counted, so that the page is
 * loaded again.
 *
 * @returns how often the block ran which ran most since the last call: a walk over all rows shows there
 */
async function countBlocks(page: Page): Promise<() => Promise<number>> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Profiler.enable");
  await cdp.send("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  await page.reload();
  return async () => {
    const { result } = await cdp.send("Profiler.takePreciseCoverage");
    const blocks = result.filter(({ url }) => url.startsWith("http")).flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges));
    return blocks.reduce((most, { count }) => Math.max(most, count), 0);
  };
}

describe("long lists", () => {
  test("100,000 rows are scrolled with at most 200 row elements, another page at their end walks over none of those before it, and a row in their middle is where it belongs", async ({
    dashboard,
  }) => {
    const page = await dashboard.open("workers");
    const mostRunsOfABlock = await countBlocks(page);
    await answer(page, "/v1/runs", (query) => runsPage(query, 100_000, (from) => (from === 200 ? 99_500 : 100)));
    await page.getByRole("link", { name: "Runs" }).click();
    await page.getByText("flow 0", { exact: true }).waitFor();
    for (let many = 0; many < 4; many += 1) await loadPage(page);
    await mostRunsOfABlock();
    await loadPage(page);
    const most = await mostRunsOfABlock();
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThan(50_000);
    expect(await scrollToEnd(page, '[data-row="99999"]')).toBeLessThanOrEqual(MAX_ROW_ELEMENTS);
    await page.getByText("flow 99999", { exact: true }).waitFor();
    await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight / 2));
    await page.locator('[data-row="50000"]').waitFor();
    await expect.poll(() => page.locator('[data-row="50000"]').textContent()).toContain("flow 50000");
    expect(await countRows(page)).toBeLessThanOrEqual(MAX_ROW_ELEMENTS);
  });

  test("rows that are scrolled past are not asked for again, and those that stay are", async ({ dashboard, service }) => {
    const page = await dashboard.open("workers");
    await page.clock.install({ time: service.clock.nowMs() });
    await answer(page, "/v1/runs", (query) => runsPage(query, 500, () => 100));
    await dashboard.goTo(page, "runs");
    await scrollToEnd(page, '[data-row="499"]');
    // What is shown may be old by now. From here, no timer ends but by the test.
    await page.clock.pauseAt((await page.evaluate(() => Date.now())) + 6_000);
    dashboard.requests.length = 0;
    const asked = () => dashboard.requests.flatMap((url) => /\/v1\/runs\?.*cursor=(\d+)/.exec(url)?.[1] ?? []);
    for (const row of [50, 250, 450, 150]) {
      await page.evaluate((place) => {
        const { height, top } = document.querySelector("[role=rowgroup]")?.getBoundingClientRect() ?? { height: 0, top: 0 };
        window.scrollTo(0, top + window.scrollY + (height * place) / 500);
      }, row);
      await page.locator(`[data-row="${row}"]`).waitFor();
    }
    await page.clock.runFor(1_000);
    await expect.poll(asked).toContain("100");
    expect(asked()).not.toContain("200");
  });

  test("a run of 10,000 steps is a timeline with at most 200 row elements", async ({ dashboard, service }) => {
    await service.ok("PUT", "/v1/workflows/long", {});
    const { runIds } = await service.ok("POST", "/v1/workflows/long/trigger", {});
    const real = await service.ok("GET", `/v1/runs/${runIds[0]}`);
    const page = await dashboard.open("workers");
    await answer(page, `/v1/runs/${runIds[0]}`, () => longRun(real, 10_000));
    await dashboard.goTo(page, `runs/${runIds[0]}`);
    await page.getByText("10,000 steps").waitFor();
    expect(await scrollToEnd(page, '[data-row="9999"]')).toBeLessThanOrEqual(MAX_ROW_ELEMENTS);
    await page.getByRole("option", { name: /step 9999/ }).click();
    await page.getByRole("complementary", { name: "Step step 9999" }).waitFor();
  });
});
