export { Calendars } from "./calendar.ts";
export type { Fired } from "./fire.ts";
export * from "./routes.ts";
export type { Schedule, ScheduleId } from "./schedule.ts";
export { listSchedules, removeSchedules, removeSchedulesOf } from "./store.ts";
export { tickAcrossWorkspaces } from "./tick.ts";
