import type { ComponentType } from "react";
import type { IconName } from "../ui/Icon.tsx";

/** A page of the dashboard. `src/pages/<area>/pages.ts` of each area exports its own as `pages`; nothing else needs to know of them. */
export interface Page {
  /** Below `/dashboard/`, with `$name` for what varies: `w/$workspace/queues/$queue`. A page of a workspace begins with `w/$workspace/`. */
  readonly path: string;
  /** In the browser's title and in the command palette. `usePageTitle` makes it more exact. */
  readonly title: string;
  readonly load: () => Promise<{ readonly default: ComponentType }>;
  /** Where the navigation and the command palette show the page. Left out: they do not show it. */
  readonly nav?: { readonly section: NavSection; readonly order: number; readonly icon: IconName };
  /** Who sees it; everybody if left out. The server decides what they may do. */
  readonly role?: "write" | "admin" | "operator";
  /** Shown without the shell and without sign-in. */
  readonly bare?: boolean;
  /** The letter after `g` that goes there. */
  readonly key?: string;
}

export const NAV_SECTIONS = ["Work", "Workflows", "Settings", "Operator"] as const;
type NavSection = (typeof NAV_SECTIONS)[number];

const found = import.meta.glob<{ pages: readonly Page[] }>("../pages/*/pages.ts", { eager: true });

/** All pages, in the order of the navigation. */
export const PAGES: readonly Page[] = Object.values(found)
  .flatMap(({ pages }) => pages)
  .sort((a, b) => (a.nav?.order ?? 0) - (b.nav?.order ?? 0));

/** The path of the first page of a workspace. */
export const firstPage = (): string => PAGES.find(({ path, nav }) => nav && path.startsWith("w/$workspace/"))?.path ?? "";
