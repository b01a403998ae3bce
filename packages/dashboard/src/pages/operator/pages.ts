import type { Page } from "../../app/pages.ts";

export const pages: readonly Page[] = [
  {
    path: "operator/workspaces",
    title: "Workspaces",
    load: () => import("./WorkspacesPage.tsx"),
    nav: { section: "Operator", order: 410, icon: "operator" },
    role: "operator",
  },
  {
    path: "operator/nodes",
    title: "Nodes",
    load: () => import("./NodesPage.tsx"),
    nav: { section: "Operator", order: 420, icon: "nodes" },
    role: "operator",
  },
];
