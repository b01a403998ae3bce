import type { ReportedStep } from "@tidemill/contract";
import { checkNames, checkObject } from "../check-names.ts";
import { type Moment, momentMs, momentText } from "../clock.ts";
import { givenText } from "../given-text.ts";
import { isGeneratorFunction } from "../lost-in-json.ts";
import { NonRetryableError } from "../worker/errors.ts";
import type { EventToSend, RunStepOptions, SignalToAwait, SignalToRegister, Step, StepKey } from "./context.ts";
import { type Duration, waitMs } from "./duration.ts";
import { RaceError } from "./errors.ts";
import type { Execution } from "./execution.ts";
import type { StepFunction } from "./host.ts";
import { httpCall } from "./http-call.ts";
import type { HttpRequest } from "./http-request.ts";
import { invokeStep } from "./invoke-step.ts";
import { remember } from "./remembered.ts";
import { signalId } from "./signal.ts";
import { eventName } from "./start.ts";
import { StepPromise } from "./step-promise.ts";
import { checkKeyAlone, stepSettings } from "./step-settings.ts";
import { checkUndo, idempotencyKey, type Undo } from "./undo.ts";

const EVENT = { name: true, data: true, ts: true } as const satisfies Record<keyof EventToSend, true>;
const SIGNAL = { signal: true } as const satisfies Record<keyof SignalToRegister, true>;
const AWAITED = { signal: true, timeout: true, of: true } as const satisfies Record<keyof SignalToAwait, true>;

/** The `step` of a workflow's function. */
export function stepsOf(execution: Execution, runId: string): Step {
  const { host } = execution;

  const run = (name: string, fn: StepFunction, options: RunStepOptions<never> = {}): Promise<unknown> => {
    const undo = options?.undo;
    const promise = execution.ask("run", name, options, () => {
      if (typeof fn !== "function")
        throw new TypeError(`step.run needs the function of the step, not ${fn === null ? "null" : typeof fn}.`);
      if (isGeneratorFunction(fn))
        throw new TypeError("the function of a step must not be a generator, which a call does not execute. Make it an async function.");
      const settings = stepSettings(options);
      if (undo !== undefined) checkUndo(undo, name, options.key);
      return (step) => {
        const { key } = step;
        const replaced = host.replace?.({ name, key }, fn) ?? fn;
        const call = { key, fn: replaced, settings, undoable: undo !== undefined, idempotencyKey: idempotencyKey(runId, key) };
        execution.beginLater(step, () => execution.executing.start(call));
      };
    });
    if (undo) execution.undoWith(promise, () => ({ fn: undo as Undo["fn"], settings: stepSettings(options) }));
    return promise;
  };

  const sendEvent = (name: string, sent: EventToSend, options: StepKey = {}): Promise<unknown> => {
    const of = sent?.name;
    return execution.ask(
      "event",
      name,
      options,
      () => {
        checkObject("The event", sent);
        checkNames("step.sendEvent", sent, EVENT);
        checkKeyAlone("step.sendEvent", options);
        const { data, ts } = sent;
        const event = { name: eventName(of), data: remember(data, `step "${name}"`, "data"), ...(ts !== undefined && { ts }) };
        return (step) =>
          execution.beginLater(step, () => execution.call("event", step.key, () => host.sendEvent({ name, key: step.key }, event)));
      },
      typeof of === "string" ? of : of?.name,
    );
  };

  const signal = (name: string, registered: SignalToRegister, options: StepKey = {}): Promise<unknown> => {
    const id = registered?.signal;
    return execution.ask(
      "signal",
      name,
      options,
      () => {
        checkObject("The signal", registered);
        checkNames("step.signal", registered, SIGNAL);
        checkKeyAlone("step.signal", options);
        const checked = signalId(id);
        return (step) =>
          execution.beginLater(step, () => execution.call("signal", step.key, () => host.registerSignal({ name, key: step.key }, checked)));
      },
      id,
    );
  };

  const waitForSignal = (name: string, awaited: SignalToAwait, options: StepKey = {}): Promise<unknown> => {
    const id = awaited?.signal;
    return execution.ask(
      "wait",
      name,
      options,
      () => {
        checkObject("The signal", awaited);
        checkNames("step.waitForSignal", awaited, AWAITED);
        checkKeyAlone("step.waitForSignal", options);
        const waits = { signal: signalId(id), timeout: waitMs("timeout", awaited.timeout) };
        return (step) =>
          execution.waiting.add(step, { key: step.key, type: "wait", status: "waiting", startedAt: momentText(host.nowMs()), ...waits });
      },
      id,
    );
  };

  const sleep = (
    method: "sleep" | "sleepUntil",
    name: string,
    options: StepKey,
    until: () => Pick<ReportedStep, "sleepFor" | "sleepUntil">,
  ): Promise<unknown> =>
    execution.ask("sleep", name, options, () => {
      checkKeyAlone(`step.${method}`, options);
      const wake = until();
      return (step) =>
        execution.waiting.add(step, { key: step.key, type: "sleep", status: "waiting", startedAt: momentText(host.nowMs()), ...wake });
    });

  const http = (name: string, request: HttpRequest, options: StepKey = {}): Promise<unknown> =>
    execution.ask("http", name, options, () => {
      checkKeyAlone("step.http", options);
      const call = httpCall(request, `step "${name}"`);
      return (step) =>
        execution.waiting.add(step, { key: step.key, type: "http", status: "waiting", startedAt: momentText(host.nowMs()), http: call });
    });

  const race = (steps: Readonly<Record<string, PromiseLike<unknown>>>): Promise<unknown> => {
    const wrong = notRaced(steps);
    const all = wrong === null ? Object.entries(steps) : [];
    const { promise, resolve, reject } = StepPromise.open<unknown>(
      () => {},
      all.map(([, step]) => step),
    );
    const foreign = all.flatMap(([name, step]) => (StepPromise.stepsOf(step).length === 0 ? [name] : []));
    if (host.checksRaces && foreign.length > 0 && !execution.end) execution.finish({ kind: "threw", error: new RaceError(foreign) });
    if (wrong !== null) reject(new NonRetryableError(wrong));
    let hasWinner = false;
    const cancelOthers = (winner: unknown) => {
      // A step that is cancelled settles, too.
      if (hasWinner) return;
      hasWinner = true;
      const losers = all.filter(([, step]) => step !== winner);
      for (const [, loser] of losers) StepPromise.lose(loser);
      for (const step of losers.flatMap(([, loser]) => StepPromise.stepsOf(loser))) execution.cancel(step);
    };
    for (const [winner, step] of all) {
      step.then(
        (value) => {
          cancelOthers(step);
          resolve({ winner, value });
        },
        (error: unknown) => {
          cancelOthers(step);
          reject(error);
        },
      );
    }
    return promise;
  };

  return {
    run,
    sleep: (name: string, duration: Duration, options: StepKey = {}) =>
      sleep("sleep", name, options, () => ({ sleepFor: waitMs("duration", duration) })),
    sleepUntil: (name: string, until: Moment, options: StepKey = {}) =>
      sleep("sleepUntil", name, options, () => ({ sleepUntil: textOf(until) })),
    sendEvent,
    signal,
    waitForSignal,
    http,
    invoke: invokeStep(execution),
    race,
  } as Step;
}

/** What is wrong with the argument of a race; null: nothing. */
function notRaced(steps: unknown): string | null {
  if (typeof steps !== "object" || steps === null)
    return `step.race needs an object of steps, such as { paid: step.waitForSignal(…), late: step.sleep(…) }, not ${givenText(steps)}.`;
  const all = Object.entries(steps);
  if (all.length === 0) return "step.race needs at least one step: a race of none never ends.";
  const [name, value] = all.find(([, step]) => typeof (step as PromiseLike<unknown> | null | undefined)?.then !== "function") ?? [];
  return name === undefined ? null : `step.race needs steps, but ${name} is ${givenText(value)}. Pass what a step returns, without await.`;
}

/** RFC 3339 has years of four digits. */
const LAST_MOMENT_MS = momentMs("9999-12-31T23:59:59.999Z");

function textOf(moment: Moment): string {
  const ms = moment === null ? Number.NaN : momentMs(moment);
  if (ms > LAST_MOMENT_MS) throw new RangeError(`until must be before the year 10000, not ${momentText(ms)}.`);
  // A moment in the past ends the sleep immediately.
  if (Number.isFinite(ms)) return momentText(Math.max(ms, 0));
  throw new TypeError(`until must be a Date, or a string such as "2026-11-23T09:30:00Z", not ${givenText(moment)}.`);
}
