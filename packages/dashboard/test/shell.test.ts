import { expect } from "vitest";
import { test } from "./harness/dashboard.ts";
import { firstLoadBytes } from "./harness/first-load.ts";

for (const prefix of ["", "/a/b"]) {
  test(`the shell is shown to a person who is signed in, at ${prefix || "the root"}`, async ({ dashboard, service }) => {
    const page = await dashboard.open("/", { prefix });
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    await page.getByRole("link", { name: "Workers" }).click();
    await page.getByRole("heading", { name: "Workers", level: 1 }).waitFor();
    await expect.poll(() => new URL(page.url()).pathname).toBe(`${prefix}/dashboard/w/${service.workspaceId}/workers`);
    await expect.poll(() => page.title()).toBe("Workers · Tidemill");
    await page.reload();
    await page.getByRole("heading", { name: "Workers", level: 1 }).waitFor();
    expect(dashboard.violations).toEqual([]);
    expect(dashboard.requests.filter((url) => !url.startsWith(new URL(page.url()).origin))).toEqual([]);
  });
}

test("a document whose scripts do not come says so", async ({ dashboard }) => {
  const page = await dashboard.open("workers");
  await page.route("**/assets/*", (route) => route.fulfill({ status: 404 }));
  await page.reload();
  await page.getByText("If it does not come, load it again.").waitFor();
});

test("scripts and styles of the first load are at most 250 kB", () => {
  expect(firstLoadBytes("src/pages/workers/WorkersPage.tsx")).toBeLessThan(250_000);
});
