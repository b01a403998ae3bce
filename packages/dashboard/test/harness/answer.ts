import type { Page } from "playwright-core";

/** Answers a request of the API in place of the node, for lists that are longer than a test wants to make. `read` gets its query. */
export async function answer(page: Page, path: string, read: (query: URLSearchParams) => unknown): Promise<void> {
  await page.route(
    (url) => url.pathname.endsWith(path),
    (route) => route.fulfill({ json: read(new URL(route.request().url()).searchParams) }),
  );
}
