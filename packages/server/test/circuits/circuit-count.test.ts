import { describe, expect, test } from "vitest";
import { Circuits, probeWaitMs } from "#circuits";
import { type AttemptResult, showsLife } from "../../src/engine/judge.ts";
import { claimed } from "../harness/dispatcher-fixture.ts";

const refused = (status: number, forGood = false): AttemptResult => ({
  kind: "refused",
  status,
  code: status < 400 ? "REDIRECT" : "HTTP_STATUS",
  message: "No.",
  retryAfterSeconds: null,
  forGood,
});
const unreachable = (code: Extract<AttemptResult, { kind: "unreachable" }>["code"]): AttemptResult => ({
  kind: "unreachable",
  code,
  message: "Nobody.",
});
const ACCEPTED: AttemptResult = { kind: "accepted", status: 200, result: null };
const DEAD = refused(503);

describe("what an answer says of its endpoint", () => {
  test.for<[string, AttemptResult, boolean | null]>([
    ["200: it lives", ACCEPTED, true],
    ["302: it lives", refused(302), true],
    ["400: it lives", refused(400), true],
    ["404: it lives", refused(404), true],
    ["410: it lives", refused(410, true), true],
    ["429: it lives", refused(429), true],
    ["499: it lives", refused(499), true],
    ["500: it does not", refused(500), false],
    ["503: it does not", refused(503), false],
    ["599: it does not", refused(599), false],
    ["600: it lives", refused(600), true],
    ["500 and never again: it lives, for it knows the job", refused(500, true), true],
    ["no answer in time: it does not", unreachable("TIMEOUT"), false],
    ["no connection: it does not", unreachable("CONNECTION"), false],
    ["no such name: it does not", unreachable("DNS"), false],
    ["an address that is not allowed: it does not", unreachable("BLOCKED_ADDRESS"), false],
    ["nothing was sent: nothing", { kind: "unsendable", code: "SECRET_NOT_FOUND", message: "None." }, null],
    ["no answer in time, but steps were stored: it lives", { ...unreachable("TIMEOUT"), advanced: true } as AttemptResult, true],
    ["503, but steps were stored: it lives", { ...refused(503), advanced: true } as AttemptResult, true],
    ["released: it lives", { kind: "postponed", waitMs: 1_000, released: "soon" }, true],
    ["released after a wait: it lives", { kind: "postponed", waitMs: 5_000, released: "later" }, true],
    ["the node could not send it: nothing", { kind: "postponed", waitMs: 1_000 }, null],
    ["the attempt was broken off: nothing", { kind: "withdrawn" }, null],
  ])("an answer says whether its endpoint lives: %s", ([, answer, life]) => {
    expect(showsLife(answer)).toBe(life);
  });
});

describe("the wait before a probe", () => {
  test("the wait before a probe doubles from one second to thirty", () => {
    expect([0, 1, 2, 3, 4, 5, 6, 1_000].map((failed) => probeWaitMs(failed, 0))).toEqual([
      1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000,
    ]);
  });

  test("the wait before a probe is up to a fifth longer by chance", () => {
    expect([0, 5].map((failed) => probeWaitMs(failed, 1))).toEqual([1_200, 36_000]);
  });
});

describe("failures in a row, as a node counts them", () => {
  const kinds = (circuits: Circuits, answers: readonly AttemptResult[], claim = claimed(1)) =>
    answers.map((answer) => circuits.attemptEnded(claim, showsLife(answer), 0).kind);
  const dead = (count: number) => Array.from({ length: count }, () => DEAD);
  const opened = (): Circuits => {
    const circuits = new Circuits();
    kinds(circuits, dead(20));
    circuits.circuitOpened(claimed(1));
    return circuits;
  };
  const probe = { ...claimed(2), probe: { failed: 3, openMs: 20_000 } };

  test("failures in a row open the circuit at the twentieth, and hold what fails after it", () => {
    const found = kinds(new Circuits(), dead(22));
    expect(found).toEqual([...dead(19).map(() => "fails"), "opens", "holds", "holds"]);
  });

  test("failures in a row begin anew with each attempt that succeeds or is refused", () => {
    for (const alive of [ACCEPTED, refused(404), refused(302), refused(500, true)]) {
      const found = kinds(new Circuits(), [...dead(19), alive, ...dead(20)]);
      expect(found.indexOf("opens")).toBe(39);
      expect(found[19]).toBe("none");
    }
  });

  test("failures in a row are not broken by an attempt that says nothing", () => {
    expect(kinds(new Circuits(), [...dead(19), { kind: "withdrawn" }, DEAD])).toEqual([...dead(19).map(() => "fails"), "none", "opens"]);
  });

  test("failures in a row are counted for each lane by itself", () => {
    const circuits = new Circuits();
    kinds(circuits, dead(19), claimed(1, 1));
    expect(kinds(circuits, dead(1), claimed(2, 2))).toEqual(["fails"]);
  });

  test("failures in a row begin anew when the queue is changed, and what is left of its old settings does not count", () => {
    const circuits = new Circuits();
    kinds(circuits, dead(19));
    const changed = { ...claimed(2), revision: 2 };
    expect(kinds(circuits, dead(1), changed)).toEqual(["fails"]);
    expect(kinds(circuits, [...dead(30), ACCEPTED])).toEqual([...dead(30).map(() => "fails"), "none"]);
    expect(kinds(circuits, dead(19), changed).at(-1)).toBe("opens");
  });

  test("an answer of an endpoint that lives closes an open circuit, once", () => {
    expect(kinds(opened(), [ACCEPTED, ACCEPTED])).toEqual(["closes", "none"]);
  });

  test("failures in a row begin anew when an attempt starts that is no probe: somebody else has closed the circuit", () => {
    const circuits = opened();
    circuits.attemptStarted(claimed(3));
    expect(kinds(circuits, dead(2))).toEqual(["fails", "fails"]);
  });

  test("an attempt that starts while the circuit is being opened tells nothing", () => {
    const circuits = new Circuits();
    kinds(circuits, dead(20));
    circuits.attemptStarted(claimed(3));
    expect(kinds(circuits, dead(1))).toEqual(["holds"]);
  });

  test("a probe that fails holds its job for longer than the next one takes, and for as long again as the circuit has been open", () => {
    const circuits = new Circuits();
    circuits.attemptStarted(probe);
    expect(circuits.attemptEnded(probe, showsLife(DEAD), 0)).toEqual({ kind: "probeFails", probeInMs: 16_000, heldForMs: 36_000 });
    expect(kinds(circuits, [DEAD, ACCEPTED])).toEqual(["holds", "closes"]);
  });

  test("a probe closes the circuit on a node that knew nothing of it, and one that says nothing is released", () => {
    expect(kinds(new Circuits(), [ACCEPTED], probe)).toEqual(["closes"]);
    expect(kinds(new Circuits(), [{ kind: "withdrawn" }], probe)).toEqual(["releasesProbe"]);
  });

  test("failures in a row are remembered for ten thousand lanes, not for ever more", () => {
    const circuits = new Circuits();
    kinds(circuits, dead(19), claimed(1, 1));
    for (let lane = 2; lane <= 10_001; lane += 1) kinds(circuits, dead(1), claimed(1, lane));
    expect(kinds(circuits, dead(1), claimed(1, 1))).toEqual(["fails"]);
  });
});
