import type { Page } from "../../app/pages.ts";

export const pages: readonly Page[] = [
  {
    path: "operator/workspaces",
    title: "Workspaces",
    load: () => import("./WorkspacesPage.tsx"),
    nav: { section: "Operator", order: 410, icon: "operator" },
    role: "operator",
  },
];
