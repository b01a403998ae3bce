import { setTimeout as wait } from "node:timers/promises";
import { answer } from "../../packages/dashboard/test/harness/answer.ts";
import { unpackChromium } from "../../packages/dashboard/test/harness/chromium.ts";
import { launchChromium } from "../../packages/dashboard/test/harness/launch.ts";
import { longRun, runsPage } from "../../packages/dashboard/test/harness/long-records.ts";
import { FORGET_TASKS, LAST_ROW, NOW_IDLE, SCROLL, TO_END, WATCH_TASKS } from "../dashboard/in-page.ts";
import { signedIn } from "../dashboard/person.ts";
import type { BenchNode, Environment } from "../environment.ts";
import { type Figure, median } from "../table.ts";

type Page = Awaited<ReturnType<Awaited<ReturnType<typeof launchChromium>>["newPage"]>>;

const ROWS = 100_000;
/** Rows of a page, as the dashboard asks for them. */
const PAGE_ROWS = 100;
/** Most rows come in larger pages: a thousand of the real ones would take minutes. */
const BULK_ROWS = 2_000;
const BULK_UNTIL = ROWS - BULK_ROWS;
const STEPS = 10_000;
const TASK_BAR_MS = 100;
const INTERACTIVE_BAR_MS = 1_000;
const CHANGE_BAR_MS = 2_000;
const ROUNDS = 5;

/** How the dashboard feels in a real browser: when it can be used, when a change is seen, and the longest task while much is scrolled. */
export async function dashboardPages(environment: Environment): Promise<Figure[]> {
  const node = await environment.node();
  const browser = await launchChromium(unpackChromium());
  try {
    const { workspaceId, cookie } = await signedIn(environment.database);
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: "en-US" });
    await context.addCookies([{ name: "tidemill_session", value: cookie, url: node.url }]);
    const page = await context.newPage();
    await page.addInitScript(WATCH_TASKS);
    const at = `${node.url}/dashboard/w/${workspaceId}`;
    const queue = environment.queueName();
    await node.api("POST", "/v1/queues", { name: queue });
    return [
      time(`time until the overview can be used`, await interactive(page, `${at}/overview`), INTERACTIVE_BAR_MS),
      time(`time until a change is seen`, await change(page, `${at}/queues/${queue}`, node, queue), CHANGE_BAR_MS),
      time(`longest task, ${ROWS.toLocaleString("en")} rows scrolled`, await scrollRows(page, at), TASK_BAR_MS),
      time(`longest task, a run of ${STEPS.toLocaleString("en")} steps shown and scrolled`, await scrollSteps(page, at, node), TASK_BAR_MS),
    ];
  } finally {
    await browser.close();
    await node.stop();
  }
}

const time = (name: string, ms: number, barMs: number): Figure => ({
  name: `dashboard: ${name}`,
  measured: ms === 0 ? "≤ 50 ms" : `${ms.toFixed(0)} ms`,
  yardstick: "",
  ratio: "",
  bar: `≤ ${barMs} ms`,
  met: ms <= barMs,
});

/** From the beginning of the navigation until the navigation and the first tile are there and the next key would be heard. The median. */
async function interactive(page: Page, address: string): Promise<number> {
  const took: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await page.goto(address, { waitUntil: "commit" });
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    await page.locator("dl, [role=status]").first().waitFor();
    took.push(await page.evaluate<number>(NOW_IDLE));
  }
  return median(took);
}

/** From the response to a request that changes a queue until the page says so. The median. */
async function change(page: Page, address: string, node: BenchNode, queue: string): Promise<number> {
  await page.goto(address);
  await page.locator("[data-state=live]:visible").waitFor();
  const took: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const paused = round % 2 === 0;
    await node.api("PATCH", `/v1/queues/${queue}`, { paused });
    const from = performance.now();
    await page.getByRole("button", { name: paused ? "Resume" : "Pause" }).waitFor();
    took.push(performance.now() - from);
    // The stream says something at most once a second.
    await wait(1_500);
  }
  return median(took);
}

async function scrollRows(page: Page, at: string): Promise<number> {
  const given = new Set<number>();
  // Only the first time: what is shown is asked for again, and a real page is small.
  const sizeOf = (from: number) => (from < BULK_UNTIL && given.size < given.add(from).size ? BULK_ROWS : PAGE_ROWS);
  await answer(page, "/v1/runs", (query) => runsPage(query, ROWS, sizeOf));
  await page.goto(`${at}/runs`);
  await page.locator("[data-row]").first().waitFor();
  await loadUpTo(page, BULK_UNTIL);
  await page.evaluate(FORGET_TASKS);
  await loadUpTo(page, ROWS);
  return longestWhileScrolling(page);
}

async function scrollSteps(page: Page, at: string, node: BenchNode): Promise<number> {
  await node.api("PUT", "/v1/workflows/long", {});
  const { runIds } = await node.api<{ runIds: string[] }>("POST", "/v1/workflows/long/trigger", {});
  const run = await node.api<object>("GET", `/v1/runs/${runIds[0]}`);
  await answer(page, `/v1/runs/${runIds[0]}`, () => longRun(run, STEPS));
  await page.goto(`${at}/runs/${runIds[0]}`);
  await page.locator("[data-row]").first().waitFor();
  return longestWhileScrolling(page);
}

/** Goes to the end again and again, as a person gets there, until so many rows are loaded. */
async function loadUpTo(page: Page, rows: number): Promise<void> {
  while ((await page.evaluate<number>(LAST_ROW)) < rows - 1) await page.evaluate(TO_END);
}

/** Since the document was opened. 0 for none. */
const longestWhileScrolling = (page: Page): Promise<number> => page.evaluate<number>(SCROLL);
