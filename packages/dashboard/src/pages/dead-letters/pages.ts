import type { Page } from "../../app/pages.ts";

export const pages: readonly Page[] = [
  {
    path: "w/$workspace/dead-letters",
    title: "Dead letters",
    load: () => import("./DeadLettersPage.tsx"),
    nav: { section: "Work", order: 40, icon: "deadLetters" },
    key: "d",
  },
];
