import type { AttemptMemory } from "#engine";
import type { Claim } from "#jobs";
import { type Clock, type LockWaits, type Transactional, toMoment } from "#kernel";
import type { ExecutionTokens, FillSecrets } from "#workers";
import { pushHook } from "#workflows";
import { beginRuns } from "./begin-runs.ts";
import type { Body } from "./body.ts";
import type { WorkflowEndpoint } from "./endpoint.ts";

/** What differs between executions of runs and of hooks. */
export interface Program {
  /** Whether an execution that may have had its effect must not be repeated. */
  readonly isOnce: boolean;
  timeoutMs(endpoint: WorkflowEndpoint): number;
  /** The setting that `timeoutMs` comes from. Null: there is none. */
  readonly timeoutSetting: string | null;
  /**
   * What is sent. Null when there is no longer anything to execute, or no memory for it.
   *
   * @param timeoutMs how long the execution may take
   */
  bodyOf(claim: Claim, endpoint: WorkflowEndpoint, timeoutMs: number, memory: AttemptMemory): Promise<Body | null>;
}

/** Hooks have no timeout of their own: they get the maximum that an endpoint may take. Milliseconds. */
const HOOK_TIMEOUT_MS = 900_000;

export function runProgram(db: Transactional, tokens: ExecutionTokens, secrets: FillSecrets, clock: Clock, lockWaits: LockWaits): Program {
  const begin = beginRuns({ db, secrets, clock, lockWaits });
  return {
    isOnce: false,
    timeoutMs: ({ timeoutMs }) => timeoutMs,
    timeoutSetting: "endpoint_timeout",
    async bodyOf(claim, endpoint, timeoutMs, memory) {
      const token = await tokens.of(claim);
      return token === null ? null : begin({ claim, endpoint, token, timeoutMs, memory });
    },
  };
}

export const hookProgram = (tokens: ExecutionTokens, clock: Clock): Program => ({
  isOnce: true,
  timeoutMs: () => HOOK_TIMEOUT_MS,
  timeoutSetting: null,
  async bodyOf(claim, { workflow }, timeoutMs) {
    const token = await tokens.of(claim);
    if (!token) return null;
    const text = pushHook({ claim: { ...claim, leaseUntil: toMoment(clock.nowMs() + timeoutMs) }, workflow, token });
    return { kind: "body", text: [text], redactor: null };
  },
});
