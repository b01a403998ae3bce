export type { ScheduleRoutes } from "./answer.ts";
export { Calendars } from "./calendar.ts";
export type { Fired } from "./fire.ts";
export { listSchedules } from "./list.ts";
export * from "./routes.ts";
export type { Schedule, ScheduleId } from "./schedule.ts";
export { removeSchedules, removeSchedulesOf } from "./store.ts";
export { tickAcrossWorkspaces } from "./tick.ts";
