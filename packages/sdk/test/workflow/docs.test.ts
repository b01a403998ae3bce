import { describe, expect } from "vitest";
import { until } from "../../../server/test/harness/service.ts";
import { test } from "../harness/live.ts";
import { PageCode } from "../harness/page-code.ts";

describe("the code of pages about workflows", () => {
  test.for([
    ["workflows.md", 17],
    ["coming-from.md", 1],
  ] as const)("%s has the types that it needs, and prints what the page says", async ([name, blocks], { live, onTestFinished }) => {
    const page = new PageCode(name, { TIDEMILL_URL: live.url, TIDEMILL_KEY: live.key });
    onTestFinished(() => page.close());
    expect(page.blocks.length).toBeGreaterThanOrEqual(blocks);
    expect(await page.typeErrors()).toBe("");
    let workers = 0;
    for (const block of page.blocks) {
      if (!block.isWorker) {
        expect([block.file, await page.run(block)]).toEqual([block.file, block.output ?? ""]);
        continue;
      }
      page.start(block);
      workers += 1;
      // A worker is listed when it has asked for work, after it has registered its workflows.
      await until(async () => (await live.tidemill.workers.list()).data.length === workers, `${block.file} to ask for work`);
    }
  });
});
