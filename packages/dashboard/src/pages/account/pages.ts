import type { Page } from "../../app/pages.ts";

export const pages: readonly Page[] = [{ path: "account", title: "Account", load: () => import("./AccountPage.tsx") }];
