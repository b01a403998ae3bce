import { MAX_METRIC_STEPS, METRIC_STEPS, type MetricsQuery, MINUTE_METRICS_DAYS } from "@tidemill/contract";
import { invalid, momentMs } from "#kernel";

/** The steps of a response. Times are milliseconds since 1970, and multiples of the step. */
export interface MetricRange {
  readonly fromMs: number;
  readonly toMs: number;
  readonly stepSeconds: number;
  /** The length of the kept steps that these are made of. Seconds. */
  readonly span: 60 | 3600;
  /** Since when these steps are kept. Null: for ever. */
  readonly keptFromMs: number | null;
}

const HOUR = 3_600;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** The number of steps that a chart shows. */
const USUAL_STEPS = 200;

/**
 * Decides which steps answer a query.
 *
 * @param retentionDays retention of the workspace's plan; null: for ever
 * @throws VALIDATION_ERROR for a range without steps, with too many steps, or with steps that are not kept for that long
 */
export function rangeOf(query: MetricsQuery, nowMs: number, retentionDays: number | null): MetricRange {
  // What happens in this millisecond is in the range.
  const askedToMs = query.to === undefined ? nowMs + 1 : momentMs(query.to);
  const askedFromMs = query.from === undefined ? askedToMs - HOUR_MS : momentMs(query.from);
  if (askedFromMs >= askedToMs) throw invalid("from", "must be before `to`");
  const minutesFromMs = nowMs - MINUTE_METRICS_DAYS * DAY_MS;
  const stepSeconds = query.step ?? usualStep(askedFromMs, askedToMs, minutesFromMs);
  if (!METRIC_STEPS.some((step) => step === stepSeconds)) throw invalid("step", `must be one of ${METRIC_STEPS.join(", ")}`);
  const span = stepSeconds < HOUR ? 60 : HOUR;
  const stepMs = stepSeconds * 1_000;
  const [fromMs, toMs] = [Math.floor(askedFromMs / stepMs) * stepMs, Math.ceil(askedToMs / stepMs) * stepMs];
  if (span === 60 && fromMs < minutesFromMs - stepMs)
    throw invalid("step", `must be ${HOUR} or more for this range: minutes are kept for ${MINUTE_METRICS_DAYS} days`);
  const steps = (toMs - fromMs) / stepMs;
  if (steps > MAX_METRIC_STEPS)
    throw invalid(
      "step",
      `makes ${steps} steps of this range, and ${MAX_METRIC_STEPS} is the most: choose longer steps or a shorter range`,
    );
  const keptFromMs = span === 60 ? minutesFromMs : retentionDays === null ? null : nowMs - retentionDays * DAY_MS;
  return { fromMs, toMs, stepSeconds, span, keptFromMs };
}

/** The shortest step that does not divide the range into too many; at least an hour when minutes are not kept for that long. */
function usualStep(fromMs: number, toMs: number, minutesFromMs: number): number {
  const kept = METRIC_STEPS.filter((step) => step >= HOUR || fromMs >= minutesFromMs);
  return kept.find((step) => toMs - fromMs <= step * 1_000 * USUAL_STEPS) ?? 86_400;
}
