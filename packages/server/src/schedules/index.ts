export { Calendars } from "./calendar.ts";
export { listSchedules } from "./list.ts";
export type { Schedule, ScheduledRun, ScheduleId } from "./schedule.ts";
export * from "./schedules.ts";
export { removeSchedules, removeSchedulesOf } from "./store.ts";
