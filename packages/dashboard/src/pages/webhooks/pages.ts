import type { Page } from "../../app/pages.ts";

export const pages: readonly Page[] = [
  {
    path: "w/$workspace/webhooks",
    title: "Webhooks",
    load: () => import("./WebhooksPage.tsx"),
    nav: { section: "Settings", order: 310, icon: "webhooks" },
  },
  { path: "w/$workspace/webhooks/$webhook", title: "Webhook", load: () => import("./WebhookPage.tsx") },
  { path: "w/$workspace/webhooks/$webhook/deliveries/$delivery", title: "Delivery", load: () => import("./DeliveryPage.tsx") },
];
