import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { inject } from "vitest";
import { newPerson, type TestPerson } from "../../../server/test/harness/people.ts";
import { test as base, type Service } from "../../../server/test/harness/service.ts";
import { launchChromium } from "./launch.ts";
import { PrefixProxy } from "./prefix-proxy.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export interface Opened {
  /** Who is signed in. Without it, an administrator of the workspace; null for nobody. */
  readonly as?: TestPerson | null;
  readonly theme?: "light" | "dark";
  readonly width?: number;
  /** Below what a proxy serves the pages: `/a/b`. */
  readonly prefix?: string;
}

/** The pages of a node in a real browser. */
export class Dashboard {
  readonly #service: Service;
  readonly #browser: Browser;
  readonly #closers: (() => Promise<unknown>)[] = [];
  /** What the policy of the pages has refused, and scripts' errors. */
  readonly violations: string[] = [];
  /** Every address that the browser has asked for. */
  readonly requests: string[] = [];

  constructor(service: Service, browser: Browser) {
    this.#service = service;
    this.#browser = browser;
  }

  /** Opens a page of the workspace: `open("queues")`. A path that begins with `/` is below `/dashboard`. */
  async open(path: string, { as, theme = "light", width = 1280, prefix = "" }: Opened = {}): Promise<Page> {
    const origin = prefix === "" ? this.#service.node.url : await this.#behindProxy(prefix);
    const context = await this.#browser.newContext({
      viewport: { width, height: 800 },
      colorScheme: theme,
      timezoneId: "Europe/Berlin",
      locale: "en",
    });
    this.#closers.push(() => context.close());
    if (as !== null) await this.#signIn(context, origin, as ?? (await newPerson(this.#service)));
    const page = await context.newPage();
    await page.clock.setFixedTime(this.#service.clock.nowMs());
    await this.#watch(page);
    const below = path.startsWith("/") ? path : `/w/${this.#service.workspaceId}/${path}`;
    await page.goto(`${origin}${prefix}/dashboard${below}`);
    await page.locator("h1, [role=status], [role=alert]").first().waitFor();
    return page;
  }

  /** Serious and critical findings of axe on a page, as texts. */
  async axe(page: Page): Promise<string[]> {
    await page.evaluate(AXE);
    const { violations } = (await page.evaluate("axe.run(document, { resultTypes: ['violations'] })")) as AxeResults;
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => `${id} ${target.join(" ")}: ${failureSummary?.split("\n")[1]?.trim()}`),
      );
  }

  async close(): Promise<void> {
    for (const close of this.#closers) await close();
  }

  async #signIn(context: BrowserContext, origin: string, { cookie }: TestPerson): Promise<void> {
    const [name = "", value = ""] = cookie.split("=");
    await context.addCookies([{ name, value, url: `${origin}/`, httpOnly: true, sameSite: "Lax" }]);
  }

  async #behindProxy(prefix: string): Promise<string> {
    const proxy = await PrefixProxy.listen(prefix, this.#service.node.url);
    this.#closers.unshift(() => proxy.close());
    return proxy.origin;
  }

  async #watch(page: Page): Promise<void> {
    page.on("request", (request) => this.requests.push(request.url()));
    page.on("pageerror", (error) => this.violations.push(`error: ${error.message}`));
    await page.exposeFunction("reportViolation", (text: string) => this.violations.push(text));
    await page.addInitScript(() => {
      const report = (globalThis as unknown as { reportViolation: (text: string) => void }).reportViolation;
      document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI, sourceFile, lineNumber }) =>
        report(`${violatedDirective} ${blockedURI} at ${sourceFile}:${lineNumber}`),
      );
    });
  }
}

/** One node and one browser per file, one workspace and one `dashboard` per test. */
export const test = base
  .extend("chromium", { scope: "file" }, async ({}, { onCleanup }) => {
    const browser = await launchChromium(inject("chromium"));
    onCleanup(() => browser.close());
    return browser;
  })
  .extend("dashboard", async ({ service, chromium }, { onCleanup }) => {
    const dashboard = new Dashboard(service, chromium);
    onCleanup(() => dashboard.close());
    return dashboard;
  });
