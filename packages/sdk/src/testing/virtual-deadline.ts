import { Deadline } from "../deadline.ts";
import type { RunHost } from "../workflow/host.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** Timeouts of attempts by a virtual clock. A function also times out when its timeout has passed in real time. */
export const virtualDeadlines =
  (clock: VirtualClock): RunHost["deadline"] =>
  (ms, outer, reason) => {
    const ended = new AbortController();
    const untilMs = clock.nowMs() + ms;
    const deadline = new Deadline(ms, outer, reason);
    clock.timer(ms, ended.signal).then(
      () => deadline.pass(),
      () => {},
    );
    return {
      get signal() {
        return deadline.signal;
      },
      get passed() {
        return deadline.passed;
      },
      onPass: (listener) => deadline.onPass(listener),
      end: () => {
        ended.abort();
        deadline.end();
        if (deadline.passed) clock.passUntil(untilMs);
      },
    };
  };
