import { CreateSchedule, ListSchedules, ListSkippedTicks, PatchSchedule, PreviewSchedule } from "@tidemill/contract";
import { type Command, InvalidArgumentError } from "commander";
import type { ListOptions } from "../output/print-pages.ts";
import { printFields, printJson, printRecord, printTable } from "../output/table.ts";
import { askFirst, YES } from "../prompt/ask-first.ts";
import { onService, runOnService, withConnection } from "./command.ts";
import { addFields, readFields, readJson } from "./fields.ts";
import { printList, withLimit } from "./listing.ts";

const NAME = ["<schedule>", "Name of the schedule"] as const;
const COLUMNS = ["name", "queue", "cron", "timezone", "state", "next_run_at", "last_run_at"];
const PAGING = ["limit", "cursor"];
const OWN = ["name", "payload"];
const PAYLOAD = ["--payload <json>", "The payload of each job: any JSON value", readJson] as const;

interface Body {
  readonly payload?: unknown;
}

const bodyOf = <Request>(schema: typeof CreateSchedule | typeof PatchSchedule, options: Body): Request => ({
  ...readFields<Request>(schema, options, OWN),
  ...(options.payload !== undefined && { payload: options.payload }),
});

export function addScheduleCommands(program: Command): void {
  const schedule = program.command("schedule").description("Schedules, which enqueue a job at each tick of a cron expression");
  addList(schedule);

  onService(
    schedule
      .command("get")
      .description("Show a schedule")
      .argument(...NAME),
    async (tidemill, { args: [name = ""], options }) => printFields(await tidemill.schedules.get(name), options.json),
  );

  onService<Body & { name?: string }>(
    addFields(schedule.command("create").description("Create a schedule"), CreateSchedule, OWN)
      .option("--name <name>", "Name of the schedule. Without it the service chooses one")
      .option(...PAYLOAD),
    async (tidemill, { options }) => {
      const { name } = options;
      const body = bodyOf<CreateSchedule>(CreateSchedule, options);
      printFields(await tidemill.schedules.create({ ...body, ...(name !== undefined && { name }) }), options.json);
    },
  );

  onService<Body>(
    addFields(
      schedule
        .command("update")
        .description("Change settings of a schedule")
        .argument(...NAME),
      PatchSchedule,
      OWN,
    ).option(...PAYLOAD),
    async (tidemill, { args: [name = ""], options }) =>
      printFields(await tidemill.schedules.update(name, bodyOf<PatchSchedule>(PatchSchedule, options)), options.json),
  );

  for (const [verb, about] of [
    ["pause", "Pause a schedule: it enqueues no more jobs"],
    ["resume", "Resume a paused schedule with its next tick"],
    ["trigger", "Enqueue a job of a schedule now"],
  ] as const) {
    onService(
      schedule
        .command(verb)
        .description(about)
        .argument(...NAME),
      async (tidemill, { args: [name = ""], options }) => printFields(await tidemill.schedules[verb](name), options.json),
    );
  }

  onService(
    addFields(schedule.command("preview").description("Show the next runs of a cron expression, without a schedule"), PreviewSchedule),
    async (tidemill, { options }) => {
      const preview = await tidemill.schedules.preview(readFields<PreviewSchedule>(PreviewSchedule, options));
      if (options.json) printJson(preview);
      else if (preview.days) printTable(preview.days, ["day", "runs", "first_at", "last_at"]);
      else printTable(preview.runs, ["run_at", "local"]);
    },
  );

  onService(
    addFields(
      schedule
        .command("skips")
        .description("List the newest ticks that enqueued no job, and why")
        .argument(...NAME),
      ListSkippedTicks,
    ),
    async (tidemill, { args: [name = ""], options }) => {
      const skips = await tidemill.schedules.skips(name, readFields<ListSkippedTicks>(ListSkippedTicks, options));
      if (options.json) printJson(skips);
      else printTable(skips.data, ["first", "last", "reason"]);
    },
  );

  onService<{ yes?: boolean }>(
    schedule
      .command("delete")
      .description("Delete a schedule. The jobs that it enqueued stay")
      .argument(...NAME)
      .option(...YES),
    async (tidemill, { args: [name = ""], options }) => {
      await askFirst(`Delete the schedule ${name}?`, options);
      await tidemill.schedules.delete(name);
      printRecord({ schedule: name, deleted: true }, options.json);
    },
  );
}

interface SchedulesOptions extends ListOptions {
  readonly next: number;
  readonly queue?: string;
  readonly state?: string;
  readonly paused?: boolean;
}

/** Operators list the schedules of any workspace, from the database. */
function addList(schedule: Command): void {
  const list = withConnection(
    addFields(
      withLimit(
        schedule
          .command("list")
          .description("List schedules, newest first. For a workspace: with their next runs in local time and in the schedule's time zone")
          .argument("[workspace]", "For operators: id of the workspace, ws_…, to read it from the database"),
      ),
      ListSchedules,
      PAGING,
    ),
  )
    .option("--next <number>", "For a workspace: number of next runs to show for each schedule, 1 to 10", oneToTen, 1)
    .option("--paused", "Only those that are paused");
  list.action(async (workspace: string | undefined, options: SchedulesOptions) => {
    if (workspace !== undefined) return (await import("../operator/schedule.ts")).listSchedulesCommand(workspace, options);
    await runOnService<SchedulesOptions>(list, async (tidemill, invocation) => {
      const filter = readFields<ListSchedules>(ListSchedules, options, PAGING);
      const state = options.paused ? { state: "paused" } : {};
      await printList((limit) => tidemill.schedules.list({ ...filter, ...state, limit }), COLUMNS, invocation.options);
    });
  });
}

function oneToTen(text: string): number {
  if (!/^([1-9]|10)$/.test(text)) throw new InvalidArgumentError("Expected a whole number from 1 to 10.");
  return Number(text);
}
