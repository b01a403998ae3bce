import { quantile } from "../table.ts";
import type { Outcome } from "./run.ts";
import { DELIVERIES, REQUESTS } from "./samples.ts";
import { memoryLimitMib } from "./settings.ts";

const RATIO = 3;
const FLOOR_MS = 250;
const LOOP_P99_MS = 20;

export const p99 = (ms: readonly number[]): number => quantile(ms, 0.99);

/** What a run missed of what a tenant is promised, in words. Empty: it passed. */
export function missed(under: Outcome, alone: Outcome): string[] {
  return [...lateness(under, alone), ...losses(under), ...strains(under)];
}

function lateness({ samples: under }: Outcome, { samples: alone }: Outcome): string[] {
  const late = (what: string, now: readonly number[], before: readonly number[]) => {
    const barMs = Math.max(RATIO * p99(before), FLOOR_MS);
    return p99(now) > barMs ? [{ what, ms: p99(now), barMs }] : [];
  };
  const all = [
    ...DELIVERIES.flatMap((kind) => late(`delivery ${kind}`, under.deliveries[kind], alone.deliveries[kind])),
    ...REQUESTS.flatMap((kind) => late(`request ${kind}`, under.requests[kind], alone.requests[kind])),
  ];
  const [worst] = all.sort((one, other) => other.ms / other.barMs - one.ms / one.barMs);
  const kinds = DELIVERIES.length + REQUESTS.length;
  return worst
    ? [`p99 of ${all.length} of ${kinds} kinds (worst: ${worst.what} ${worst.ms.toFixed(0)} ms, ≤ ${worst.barMs.toFixed(0)})`]
    : [];
}

function losses({ samples, charged }: Outcome): string[] {
  const refused = refusals(samples.refused);
  return [
    ...(refused > 0 ? [`${refused} requests refused`] : []),
    ...(samples.undelivered > 0 ? [`${samples.undelivered} jobs undelivered`] : []),
    ...(charged > 0 ? [`${charged} attempts charged`] : []),
  ];
}

function strains({ nodes }: Outcome): string[] {
  const limit = memoryLimitMib();
  return nodes.flatMap(({ loopP99Ms, heldP99Ms, peakMib, events }) => [
    ...(loopP99Ms === null ? ["the node did not answer"] : []),
    ...(heldP99Ms !== null && heldP99Ms > LOOP_P99_MS ? [`loop held p99 ${heldP99Ms.toFixed(0)} ms (≤ ${LOOP_P99_MS})`] : []),
    ...(peakMib !== null && peakMib > limit ? [`memory ${peakMib.toFixed(0)} MiB (≤ ${limit})`] : []),
    ...(events.node_lease_lost ? ["a lease lost"] : []),
  ]);
}

export const refusals = (refused: Readonly<Record<string, number>>): number => Object.values(refused).reduce((sum, one) => sum + one, 0);
