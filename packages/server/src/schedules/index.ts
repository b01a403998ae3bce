export { Calendars } from "./calendar.ts";
export { type Fired } from "./fire.ts";
export { tickAcrossWorkspaces } from "./tick.ts";
