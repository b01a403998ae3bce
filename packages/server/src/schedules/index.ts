export { Calendars } from "./calendar.ts";
export { listSchedules } from "./list.ts";
export { putScheduleOfWorkflow, TicksAreDue } from "./of-workflow.ts";
export type { Schedule, ScheduledRun, ScheduleId } from "./schedule.ts";
export * from "./schedules.ts";
export { removeSchedules, removeSchedulesOf } from "./store.ts";
