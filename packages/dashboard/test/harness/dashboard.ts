import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Browser, BrowserContext, Locator, Page, Request } from "playwright-core";
import { inject, vi } from "vitest";
import { newPerson, type TestPerson } from "../../../server/test/harness/people.ts";
import { test as base, type Service } from "../../../server/test/harness/service.ts";
import { launchChromium } from "./launch.ts";
import { PrefixProxy } from "./prefix-proxy.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Only ends what hangs. Milliseconds. */
const SHOWN_MS = 60_000;
/** Requests of pages, behind any prefix. */
const API = /\/dashboard\/(api|auth)\//;

interface Axe {
  run(part: Element, options: object): Promise<AxeResults>;
}

export interface Opened {
  /** Who is signed in. Without it, an administrator of the workspace; null for nobody. */
  readonly as?: TestPerson | null;
  readonly theme?: "light" | "dark";
  readonly width?: number;
  /** Below what a proxy serves the pages: `/a/b`. */
  readonly prefix?: string;
  /** Another name of the node: `localhost`, for passkeys. */
  readonly host?: string;
}

/** The pages of a node in a real browser. */
export class Dashboard {
  readonly #service: Service;
  readonly #browser: Browser;
  readonly #closers: (() => Promise<unknown>)[] = [];
  /** Requests of the API that are not answered yet. */
  readonly #pending = new Map<Page, Set<Request>>();
  /** What the policy of the pages has refused, and scripts' errors. */
  readonly violations: string[] = [];
  /** Every address that the browser has asked for. */
  readonly requests: string[] = [];

  constructor(service: Service, browser: Browser) {
    this.#service = service;
    this.#browser = browser;
  }

  /** Opens a page of the workspace: `open("queues")`. A path that begins with `/` is below `/dashboard`. */
  async open(path: string, { as, theme = "light", width = 1280, prefix = "", host }: Opened = {}): Promise<Page> {
    const at = new URL(prefix === "" ? this.#service.node.url : await this.#behindProxy(prefix));
    if (host !== undefined) at.hostname = host;
    const { origin } = at;
    const context = await this.#browser.newContext({
      viewport: { width, height: 800 },
      colorScheme: theme,
      timezoneId: "Europe/Berlin",
      locale: "en",
    });
    context.setDefaultTimeout(SHOWN_MS);
    this.#closers.push(async () => {
      // A request that a test answers may be under way.
      for (const routed of [context, ...context.pages()]) await routed.unrouteAll({ behavior: "ignoreErrors" });
      await context.close();
    });
    if (as !== null) await this.#signIn(context, origin, as ?? (await newPerson(this.#service)));
    const page = await context.newPage();
    await page.clock.setFixedTime(this.#service.clock.nowMs());
    await this.#watch(page);
    await this.goTo(page, path, `${origin}${prefix}`);
    return page;
  }

  /** Loads another page, and waits until its requests are answered. */
  async goTo(page: Page, path: string, base = new URL(page.url()).origin): Promise<void> {
    await page.goto(`${base}/dashboard${this.#below(path)}`);
    await this.#shown(page);
  }

  /** Goes to another page in the same document, as a link does, and waits until its requests are answered. */
  async walkTo(page: Page, path: string, prefix = ""): Promise<void> {
    await page.evaluate(
      (to) => {
        document.querySelector("main")?.setAttribute("data-left", "");
        history.pushState({}, "", to);
        dispatchEvent(new PopStateEvent("popstate"));
      },
      `${prefix}/dashboard${this.#below(path)}`,
    );
    await page.locator("main:not([data-left])").waitFor();
    await this.#shown(page);
  }

  /** Serious and critical findings of axe on a page, or on a part of it, in both themes, as texts. */
  async axe(page: Page, part: Locator = page.locator("html")): Promise<string[]> {
    if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(AXE);
    const run = async (options: object) => {
      await this.#fadedIn(page);
      return part.evaluate((element, given) => (globalThis as unknown as { axe: Axe }).axe.run(element, given), {
        resultTypes: ["violations"],
        ...options,
      });
    };
    const { violations } = await run({});
    // Only contrast differs in the other theme, which another tab seems to have chosen.
    const scheme = await page.evaluate("document.documentElement.dataset.mantineColorScheme");
    await this.#showIn(page, scheme === "dark" ? "light" : "dark");
    const inOther = await run({ runOnly: ["color-contrast"] });
    await this.#showIn(page, String(scheme));
    return [...violations, ...inOther.violations]
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => `${id} ${target.join(" ")}: ${failureSummary?.split("\n")[1]?.trim()}`),
      );
  }

  #below(path: string): string {
    return path.startsWith("/") ? path : `/w/${this.#service.workspaceId}/${path}`;
  }

  /** Waits until a page has all that it asked for, and what it asks for then. */
  async #shown(page: Page): Promise<void> {
    await page.locator("h1").first().waitFor();
    const loading = page.locator("[data-loading]");
    const hasAll = async () => {
      if (this.#pending.get(page)?.size) return false;
      // What has come is rendered, and may ask for more.
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      return this.#pending.get(page)?.size === 0 && (await loading.count()) === 0;
    };
    await vi.waitUntil(hasAll, { timeout: SHOWN_MS, interval: 3 });
  }

  async close(): Promise<void> {
    for (const close of this.#closers) await close();
  }

  /** Waits for transitions to end: what is half transparent has too little contrast. */
  async #fadedIn(page: Page): Promise<void> {
    const isMoving = () =>
      page.evaluate(() =>
        document
          .getAnimations()
          .some(({ playState, effect }) => playState === "running" && effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY),
      );
    await vi.waitUntil(async () => !(await isMoving()), { timeout: SHOWN_MS, interval: 3 });
  }

  async #showIn(page: Page, scheme: string): Promise<void> {
    await page.evaluate(async (newValue) => {
      const { dataset } = document.documentElement;
      const nextFrame = () => new Promise(requestAnimationFrame);
      dispatchEvent(new StorageEvent("storage", { storageArea: localStorage, key: "mantine-color-scheme-value", newValue }));
      while (dataset.mantineColorScheme !== newValue) await nextFrame();
      await nextFrame();
    }, scheme);
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
    const pending = new Set<Request>();
    this.#pending.set(page, pending);
    page.on("request", (request) => {
      this.requests.push(request.url());
      // The stream of changes stays open.
      if (API.test(request.url()) && !request.url().endsWith("/v1/live")) pending.add(request);
    });
    for (const event of ["requestfinished", "requestfailed"] as const)
      page.on(event as "requestfinished", (request) => pending.delete(request));
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
