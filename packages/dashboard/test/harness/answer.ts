import type { BrowserContext, Page, Route } from "playwright-core";

type Matched = Parameters<Page["route"]>[0];
type Answer = Parameters<Route["fulfill"]>[0];

/** Answers a request of the API in place of the node, for lists that are longer than a test wants to make. `read` gets its query. */
export async function answer(page: Page, path: string, read: (query: URLSearchParams) => unknown): Promise<void> {
  await page.route(
    (url) => url.pathname.endsWith(path),
    (route) => route.fulfill({ json: read(new URL(route.request().url()).searchParams) }),
  );
}

/**
 * Answers requests in place of the node, until the function that it returns is called. It does not take the route away: a request that begins
 * while a browser stops to intercept is never answered.
 */
export async function answerForNow(target: Page | BrowserContext, matched: Matched, response: Answer): Promise<() => void> {
  let isOver = false;
  await target.route(matched, (route) => (isOver ? route.continue() : route.fulfill(response)));
  return () => {
    isOver = true;
  };
}

export interface Held {
  /** Requests that wait. */
  readonly waiting: () => number;
  /** Lets them go on, and all that come later. */
  readonly release: () => Promise<void>;
}

/** Holds requests until they are released. */
export async function hold(page: Page, matched: Matched): Promise<Held> {
  const held: Route[] = [];
  let isOver = false;
  await page.route(matched, (route) => (isOver ? route.continue() : void held.push(route)));
  return {
    waiting: () => held.length,
    release: async () => {
      isOver = true;
      for (const route of held.splice(0)) await route.continue();
    },
  };
}
