import type {
  CreateSchedule,
  ListSchedules,
  ListSkippedTicks,
  PatchSchedule,
  PreviewSchedule,
  Schedule,
  SchedulePreview,
  SkippedTicks,
} from "@tidemill/contract";
import { type Api, pathOf } from "../api.ts";
import type { Job } from "../job.ts";
import type { CallOptions } from "../options.ts";
import type { List } from "../page.ts";

/** Schedules, which enqueue a job at each tick of a cron expression. */
export class Schedules {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  list(filter: ListSchedules = {}, call?: CallOptions): List<Schedule, ListSchedules> {
    return this.#api.list("/v1/schedules", filter, call);
  }

  create(schedule: CreateSchedule, call?: CallOptions): Promise<Schedule> {
    return this.#api.post("/v1/schedules", schedule, call);
  }

  get(name: string, call?: CallOptions): Promise<Schedule> {
    return this.#api.get(pathOf("schedules", name), call);
  }

  update(name: string, changes: PatchSchedule, call?: CallOptions): Promise<Schedule> {
    return this.#api.patch(pathOf("schedules", name), changes, call);
  }

  delete(name: string, call?: CallOptions): Promise<void> {
    return this.#api.delete(pathOf("schedules", name), call);
  }

  /** Pauses a schedule: its ticks create no jobs. Has no effect on a paused schedule. */
  pause(name: string, call?: CallOptions): Promise<Schedule> {
    return this.#api.patchRepeatably(pathOf("schedules", name, "pause"), call);
  }

  /** Resumes a schedule with its next tick. Has no effect on an active schedule. */
  resume(name: string, call?: CallOptions): Promise<Schedule> {
    return this.#api.patchRepeatably(pathOf("schedules", name, "resume"), call);
  }

  /** Creates a job of the schedule now. */
  trigger(name: string, call?: CallOptions): Promise<Job> {
    return this.#api.post(pathOf("schedules", name, "trigger"), undefined, call);
  }

  /** The newest ticks that created no job, and why. */
  skips(name: string, filter: ListSkippedTicks = {}, call?: CallOptions): Promise<SkippedTicks> {
    return this.#api.get(pathOf("schedules", name, "skips"), call, filter);
  }

  /** The next ticks of a cron expression; with `days`, also how many there are on each of the following days. */
  preview(schedule: PreviewSchedule, call?: CallOptions): Promise<SchedulePreview> {
    return this.#api.get("/v1/schedules/preview", call, schedule);
  }
}
