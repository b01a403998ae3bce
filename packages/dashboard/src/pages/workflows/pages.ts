import type { Page } from "../../app/pages.ts";

export const pages: readonly Page[] = [
  {
    path: "w/$workspace/workflows",
    title: "Workflows",
    load: () => import("./WorkflowsPage.tsx"),
    nav: { section: "Workflows", order: 210, icon: "workflows" },
    key: "w",
  },
  { path: "w/$workspace/workflows/$workflow", title: "Workflow", load: () => import("./WorkflowPage.tsx") },
];
