import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { answer } from "./harness/answer.ts";
import { test } from "./harness/dashboard.ts";
import { longRun, runsPage } from "./harness/long-records.ts";

const MAX_ROW_ELEMENTS = 200;

const countRows = (page: Page) => page.locator("[data-row]").count();

/** Scrolls to the end, until there is nothing more to load. Returns the most row elements that there were at once. */
async function scrollToEnd(page: Page, lastRow: string): Promise<number> {
  let most = 0;
  const last = page.locator(lastRow);
  while ((await last.count()) === 0) {
    await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    most = Math.max(most, await countRows(page));
  }
  return most;
}

describe("long lists", () => {
  test("100,000 rows are scrolled with at most 200 row elements, and a row in their middle is where it belongs", async ({ dashboard }) => {
    const pageOf = 50_000;
    const page = await dashboard.open("workers");
    await answer(page, "/v1/runs", (query) => runsPage(query, 100_000, () => pageOf));
    await page.getByRole("link", { name: "Runs" }).click();
    await page.getByText("flow 0", { exact: true }).waitFor();
    expect(await scrollToEnd(page, '[data-row="99999"]')).toBeLessThanOrEqual(MAX_ROW_ELEMENTS);
    await page.getByText("flow 99999", { exact: true }).waitFor();
    await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight / 2));
    await page.locator('[data-row="50000"]').waitFor();
    expect(await page.locator('[data-row="50000"]').textContent()).toContain("flow 50000");
    expect(await countRows(page)).toBeLessThanOrEqual(MAX_ROW_ELEMENTS);
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
