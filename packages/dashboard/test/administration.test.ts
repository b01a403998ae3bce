import { describe, expect } from "vitest";
import { test } from "./harness/dashboard.ts";

const approvals = { type: "approval", approval: { timeout: 7_200, on_timeout: "reject" } };

describe("approvals", () => {
  test("show what waits, how it differs from the one before, and take decisions by keyboard", async ({ dashboard, service }) => {
    const queue = await service.queue(approvals);
    const before = await service.enqueue({
      queue,
      tag: "weekly",
      payload: { amount: 12, to: ["ada"], note: "<img src=x onerror=alert(1)>" },
    });
    await service.ok("POST", `/v1/queues/${queue}/jobs/${before.id}/approve`, { by: "bob" });
    const job = await service.enqueue({
      queue,
      tag: "weekly",
      payload: { amount: 12_000, to: ["ada"], note: "<img src=x onerror=alert(1)>" },
    });
    const page = await dashboard.open("approvals");
    const detail = page.getByRole("article", { name: `Job ${job.id}` });
    await detail.getByText("rejected", { exact: true }).waitFor();
    const difference = detail.getByRole("region", { name: "Difference", exact: true });
    for (const line of ['−   "amount": 12,', '+   "amount": 12000,']) await difference.getByText(line, { exact: true }).waitFor();
    await page.keyboard.press("r");
    expect(await dashboard.axe(page)).toEqual([]);
    await page.getByRole("dialog").getByLabel("Reason").fill("Too much.");
    await page.keyboard.press("Enter");
    await page.getByText(`The job of ${queue} is rejected.`).waitFor();
    expect(await service.job(job)).toMatchObject({
      state: "rejected",
      approval: { comment: "Too much.", by: expect.stringContaining("@") },
    });
    await page.getByText("decided", { exact: true }).waitFor();
    expect(dashboard.violations).toEqual([]);
  });

  test("say that somebody else has decided meanwhile", async ({ dashboard, service }) => {
    const queue = await service.queue(approvals);
    const job = await service.enqueue({ queue });
    const page = await dashboard.open("approvals");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.route("**/v1/live", (route) => route.abort());
    await service.ok("POST", `/v1/queues/${queue}/jobs/${job.id}/approve`, { by: "bob", comment: "Looks right" });
    await page.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
    await page.getByText("Somebody else has decided meanwhile").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    await page.getByText("It was approved by bob").waitFor();
    expect(await page.getByRole("button", { name: "Approve" }).isDisabled()).toBe(true);
  });
});
