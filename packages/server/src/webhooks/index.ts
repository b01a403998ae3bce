export { sweepLaneDeliveries } from "./expire.ts";
export * from "./webhooks.ts";
