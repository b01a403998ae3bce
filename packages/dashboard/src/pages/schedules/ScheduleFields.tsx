import { NativeSelect, TextInput } from "@mantine/core";
import type { Queue, SchedulePreview } from "@tidemill/contract";
import { useDeferredValue, useMemo } from "react";
import type { Page } from "../../api/merge-pages.ts";
import { useRecord } from "../../api/use-record.ts";
import { toMs } from "../../time/clock.ts";
import { formatExact } from "../../time/format.ts";
import { JsonInput } from "../../ui/JsonInput.tsx";
import { inWords } from "./in-words.ts";
import classes from "./schedules.module.css";
import type { ScheduleForm } from "./settings.ts";

interface ScheduleFieldsProps {
  readonly form: ScheduleForm;
  readonly isNew: boolean;
  readonly onChange: (changed: Partial<ScheduleForm>) => void;
}

/** The fields of a schedule. The service reads the pattern and says what is wrong with it. */
export function ScheduleFields({ form, isNew, onChange }: ScheduleFieldsProps) {
  const zones = useMemo(() => [...new Set([form.timezone, "UTC", ...Intl.supportedValuesOf("timeZone")])], [form.timezone]);
  const { data: queues } = useRecord<Page<Queue>>("queues", "/queues", { query: { limit: 100 } });
  const text = (name: keyof ScheduleForm) => ({
    value: form[name],
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) => onChange({ [name]: currentTarget.value }),
    spellCheck: false,
    autoComplete: "off",
  });
  const whole = { type: "number", step: 1 } as const;
  return (
    <div className={classes.form}>
      {isNew && <TextInput label="Name" description="If empty, it is made from the queue's name." data-autofocus {...text("name")} />}
      <TextInput label="Queue" description="Where its jobs go." required list="schedule-queues" {...text("queue")} />
      <datalist id="schedule-queues">
        {queues?.data.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <TextInput
        label="Pattern"
        description="Minute, hour, day of month, month, day of week; six fields begin with seconds."
        required
        data-autofocus={!isNew || undefined}
        {...text("cron")}
      />
      <NativeSelect label="Time zone" description="The time zone in which the pattern is read." data={zones} {...text("timezone")} />
      <PatternCheck cron={form.cron} timezone={form.timezone} />
      <div className={classes.whole}>
        <JsonInput
          label="Payload"
          description="JSON, the payload of each job. Empty means null."
          value={form.payload}
          onChange={(payload) => onChange({ payload })}
        />
      </div>
      <TextInput label="Tag" {...text("tag")} />
      <TextInput label="Concurrency key" {...text("concurrencyKey")} />
      <TextInput label="Priority" {...whole} min={-100} max={100} required {...text("priority")} />
      <TextInput label="Attempts" placeholder="those of the queue" {...whole} min={1} max={100} {...text("attempts")} />
      <NativeSelect
        label="While the job before is not finished"
        data={[
          { value: "allow", label: "a tick enqueues another one" },
          { value: "skip", label: "ticks are skipped" },
        ]}
        {...text("overlap")}
      />
      <NativeSelect
        label="Ticks missed in a downtime"
        data={[
          { value: "last", label: "the last one runs afterwards" },
          { value: "none", label: "none runs afterwards" },
          { value: "all", label: "all run afterwards, at most 1,000" },
        ]}
        {...text("catch_up")}
      />
    </div>
  );
}

/** The pattern in words with its next runs, or what is wrong with it. */
function PatternCheck({ cron, timezone }: { cron: string; timezone: string }) {
  const asked = useDeferredValue(cron.trim());
  const { data, error } = useRecord<SchedulePreview>("settled", "/schedules/preview", {
    query: { cron: asked, timezone, count: 3 },
    enabled: asked !== "",
  });
  if (asked === "") return null;
  return (
    <output className={classes.whole}>
      {error ? (
        <span className={classes.wrong}>{error.message}</span>
      ) : (
        <>
          <strong>{inWords(asked)}.</strong> Next:{" "}
          {data?.runs.map(({ run_at }, at) => (
            <span key={run_at}>
              {at > 0 && ", "}
              {formatExact(toMs(run_at), timezone)}
            </span>
          ))}
        </>
      )}
    </output>
  );
}
