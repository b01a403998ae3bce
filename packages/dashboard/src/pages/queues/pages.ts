import type { Page } from "../../app/pages.ts";

export const pages: readonly Page[] = [
  {
    path: "w/$workspace/queues",
    title: "Queues",
    load: () => import("./QueuesPage.tsx"),
    nav: { section: "Work", order: 30, icon: "queues" },
    key: "q",
  },
  { path: "w/$workspace/queues/$queue", title: "Queue", load: () => import("./QueuePage.tsx") },
];
