import type { Route } from "playwright-core";
import { describe, expect, vi } from "vitest";
import { newPerson } from "../../server/test/harness/people.ts";
import { putWorkflow, type TestWorkflow } from "../../server/test/harness/workflows.ts";
import { answerForNow } from "./harness/answer.ts";
import { test } from "./harness/dashboard.ts";

const DIGITS = "12345678901234567890";

/** A run that waits for a signal, with a step behind it. */
async function waitingRun({ trigger, take, end }: TestWorkflow, signal: string): Promise<string> {
  const runId = await trigger({ input: { order: 7 } });
  const run = await take();
  const steps = [
    { key: "load order", type: "run", status: "completed", output: { total: 1 } },
    { key: "ask", type: "wait", status: "waiting", signal, timeout: 3_600_000 },
  ];
  await end(run, { outcome: "suspended", steps });
  return runId;
}

describe("runs", () => {
  test("a person finds a run by keyboard, completes its signal, and every digit arrives", async ({ dashboard, service }) => {
    const workflow = await putWorkflow(service);
    const runId = await waitingRun(workflow, "ship.7");
    const page = await dashboard.open("workers");
    // To the palette, to the runs, into the first row, to the form.
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: /Go to/ }).fill("queues");
    // It ends the composition of a character, as in Japanese.
    await page.getByRole("combobox", { name: /Go to/ }).dispatchEvent("keydown", { key: "Enter", isComposing: true });
    await page.getByRole("combobox", { name: /Go to/ }).fill("runs");
    await page.keyboard.press("Enter");
    await page.getByRole("row", { name: new RegExp(workflow.id) }).waitFor();
    await page.locator("[data-row='0']").focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: workflow.id }).waitFor();
    const complete = page.getByRole("button", { name: "Complete the signal" });
    await complete.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("textbox", { name: "Payload" }).and(page.locator(":focus")).waitFor();
    expect(await dashboard.axe(page)).toEqual([]);
    await page.keyboard.type(`{"id":${DIGITS}`);
    await page.getByText("This is not JSON").waitFor();
    await page.keyboard.type("}");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByText("The signal ship.7 is completed.").waitFor();
    // The step gets its result when the run is executed.
    await workflow.take();
    const { text } = await service.api("GET", `/v1/runs/${runId}`);
    expect(text).toContain(`"output":{"id":${DIGITS}}`);
    await page.reload();
    await page.getByRole("option", { name: /completed.*ask/ }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "output", exact: true }).waitFor();
    await expect.poll(() => page.getByRole("region", { name: "output", exact: true }).textContent()).toContain(DIGITS);
    expect(dashboard.violations).toEqual([]);
  });

  test("the folded pauses of a run are said in full, also beside an open step", async ({ dashboard, service }) => {
    const workflow = await putWorkflow(service);
    const runId = await waitingRun(workflow, "ship.6");
    await service.clock.advance(600);
    const page = await dashboard.open(`runs/${runId}?step=${encodeURIComponent("load order")}`);
    await page.getByRole("complementary", { name: /load order/ }).waitFor();
    const said = page.getByText("2 steps · 1 pause folded: 10 min");
    const isCut = () => said.evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth);
    await expect.poll(isCut).toBe(false);
    await page.setViewportSize({ width: 390, height: 800 });
    await expect.poll(isCut).toBe(false);
  });

  test("a run that waits says what holds it", async ({ dashboard, service }) => {
    const workflow = await putWorkflow(service, { concurrency: 1 });
    await workflow.trigger();
    const next = await workflow.trigger();
    await workflow.take();
    const page = await dashboard.open(`runs/${next}`);
    await page.getByRole("note", { name: "Why it is not running" }).getByText("1 of 1 allowed executions in flight").waitFor();
  });

  test("a run is cancelled and retried", async ({ dashboard, service }) => {
    const workflow = await putWorkflow(service);
    const runId = await waitingRun(workflow, "ship.8");
    const page = await dashboard.open(`runs/${runId}`);
    await page.locator("dt", { hasText: "Elapsed" }).waitFor();
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.getByRole("button", { name: "Cancel the run" }).click();
    await page.getByText("The run is cancelled.").waitFor();
    await page.locator("dt", { hasText: "Took" }).waitFor();
    expect((await workflow.get(runId)).status).toBe("cancelled");
    await page.getByRole("button", { name: "Retry" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Retry" }).click();
    await page.getByText("The run continues.").waitFor();
    expect((await workflow.get(runId)).status).not.toBe("cancelled");
  });

  test("a run whose steps are undone is not retried", async ({ dashboard, service }) => {
    const workflow = await putWorkflow(service);
    const runId = await workflow.trigger();
    const { lease_token } = await workflow.take();
    const load = { key: "load order", type: "run", status: "completed", output: 1, undoable: true };
    await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token, steps: [load] });
    const page = await dashboard.open(`runs/${runId}`);
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.getByRole("button", { name: "Cancel the run" }).click();
    await page.getByText("The run is cancelled.").waitFor();
    await page.getByText("cancelled", { exact: true }).first().waitFor();
    await expect.poll(() => page.getByRole("button", { name: /Cancel|Retry/ }).count()).toBe(0);
  });

  test("a run is started by hand with an input that keeps its digits", async ({ dashboard, service }) => {
    const workflow = await putWorkflow(service);
    const page = await dashboard.open(`workflows/${workflow.id}`);
    await page.getByRole("button", { name: "Start a run" }).click();
    await page.getByRole("textbox", { name: "Input" }).fill(DIGITS);
    await page.getByRole("dialog").getByRole("button", { name: "Start" }).click();
    await page.getByRole("heading", { name: "Timeline" }).waitFor();
    await expect.poll(() => page.getByRole("region", { name: "input", exact: true }).textContent()).toBe(DIGITS);
  });

  test("an input that is being typed stays when the workflow cannot be read again", async ({ dashboard, service }) => {
    const workflow = await putWorkflow(service);
    const page = await dashboard.open(`workflows/${workflow.id}`);
    await page.locator("[data-state=live]:visible").waitFor();
    await page.getByRole("button", { name: "Start a run" }).click();
    const input = page.getByRole("textbox", { name: "Input" });
    await input.fill('{"typed":true}');
    await answerForNow(page, `**/v1/workflows/${workflow.id}`, {
      status: 400,
      json: { error: { code: "VALIDATION_ERROR", message: "Not now.", details: {} } },
    });
    await service.ok("PUT", `/v1/workflows/${workflow.id}`, { version: "2" });
    await page.getByText("Not now.").waitFor();
    await expect.poll(() => input.inputValue()).toBe('{"typed":true}');
  });

  test("a payload that was typed for one signal is not there for another", async ({ dashboard, service }) => {
    const workflow = await putWorkflow(service);
    const runId = await workflow.trigger();
    const wait = (signal: string) => ({ key: signal, type: "wait", status: "waiting", signal, timeout: 3_600_000 });
    await workflow.end(await workflow.take(), { outcome: "suspended", steps: [wait("refund"), wait("ship")] });
    const page = await dashboard.open(`runs/${runId}`);
    const complete = (signal: string) =>
      page.getByRole("listitem").filter({ hasText: signal }).getByRole("button", { name: "Complete the signal" }).click();
    await complete("refund");
    const payload = page.getByRole("textbox", { name: "Payload" });
    await payload.fill('{"amount":1000}');
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await complete("ship");
    await page.getByRole("dialog", { name: "Complete ship" }).waitFor();
    await expect.poll(() => payload.inputValue()).toBe("");
  });

  test("a person who may only read is shown no buttons that would be refused", async ({ dashboard, service }) => {
    const workflow = await putWorkflow(service);
    const runId = await waitingRun(workflow, "ship.9");
    const page = await dashboard.open(`runs/${runId}`, { as: await newPerson(service, { role: "read" }) });
    await page.getByRole("heading", { name: "Timeline" }).waitFor();
    await expect.poll(() => page.getByRole("button", { name: /Cancel|Complete|Retry/ }).count()).toBe(0);
  });

  test("a list that cannot be loaded says so, with the code, and tries again", async ({ dashboard }) => {
    const page = await dashboard.open("workers");
    const recover = await answerForNow(page, (url) => url.pathname.endsWith("/v1/runs"), {
      status: 400,
      headers: { "x-request-id": "req_7" },
      json: { error: { code: "VALIDATION_ERROR", message: "status is not a status.", details: {} } },
    });
    await page.getByRole("link", { name: "Runs" }).click();
    const alert = page.getByRole("alert");
    await alert.waitFor();
    await expect
      .poll(() => alert.textContent())
      .toMatch(/Could not load the runs.*status is not a status\..*400 · VALIDATION_ERROR · req_7/);
    recover();
    await alert.getByRole("button", { name: "Try again" }).click();
    await page.getByText("No workflow has run yet").waitFor();
  });

  test("a list that could not be loaded is there by itself when the service is back", async ({ dashboard }) => {
    const page = await dashboard.open("workers");
    const recover = await answerForNow(page, "**/v1/runs?*", { status: 503, json: { error: { code: "UNAVAILABLE", message: "Away." } } });
    await page.getByRole("link", { name: "Runs" }).click();
    // Three tries, which say so from the first one on.
    await page.getByRole("alert").getByText("Away.").waitFor();
    await page.clock.runFor(4_000);
    recover();
    // Each try sets its timer when its response has come, which takes real time: one long run of the clock could end before.
    const list = page.getByText("No workflow has run yet");
    await vi.waitUntil(
      async () => {
        await page.clock.runFor(1_000);
        return await list.isVisible();
      },
      { timeout: 30_000 },
    );
  });

  test("a list whose request is never answered says so, and is asked for again", async ({ dashboard }) => {
    const page = await dashboard.open("workers");
    const held: Route[] = [];
    await page.route("**/v1/runs?*", (route) => (held.length === 0 ? void held.push(route) : route.continue()));
    await page.getByRole("link", { name: "Runs" }).click();
    await vi.waitUntil(() => held.length > 0, { timeout: 30_000 });
    await page.clock.runFor(60_000);
    await page.getByRole("alert").getByText("The service has not responded for a minute.").waitFor();
    await page.clock.runFor(1_000);
    await page.getByText("No workflow has run yet").waitFor();
  });

  test("a page whose script could not be loaded is there after another try", async ({ dashboard }) => {
    const page = await dashboard.open("workers");
    const recover = await answerForNow(page, "**/assets/RunsPage-*.js", { status: 404 });
    await page.getByRole("link", { name: "Runs" }).click();
    const again = page.getByRole("button", { name: "Try again" });
    await again.waitFor();
    recover();
    await again.click();
    await page.getByText("No workflow has run yet").waitFor();
  });

  test("new runs are counted above the list, and do not move its rows", async ({ dashboard, service }) => {
    const workflow = await putWorkflow(service);
    await workflow.trigger();
    const page = await dashboard.open("runs");
    await page.locator("[data-row='0']").waitFor();
    await page.route(
      (url) => url.pathname.endsWith("/v1/live"),
      (route) => route.abort(),
    );
    for (let at = 0; at < 3; at++) await workflow.trigger();
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await page.getByRole("button", { name: "3 new" }).click();
    await page.locator("[data-row='3']").waitFor();
  });
});
