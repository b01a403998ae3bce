import { FROM_THE_START, findLanesWithWorkAcrossWorkspaces } from "../../packages/server/src/jobs/index.ts";
import { rows, sql } from "../../packages/server/src/kernel/index.ts";
import type { LaneKey } from "../../packages/server/src/lanes/index.ts";
import type { Environment } from "../environment.ts";
import { FEW, FLOW_CASES, QUEUES, TAKE } from "../flow-cases.ts";
import { FlowFixture, type FlowTimes, UNREACHABLE_URL } from "../flow-fixture.ts";
import { clearJobs, putQueue, vacuumAnalyze } from "../put-jobs.ts";
import { type Figure, median } from "../table.ts";

const ROUNDS = 200;
const WARM_UP = 10;
/** A node whose lanes all have work claims this many jobs from each of this many lanes in one statement. */
const LANES_PER_CLAIM = 128;
const TAKE_PER_LANE = 3;
const BAR = 1.5;

/**
 * One claim of 50 jobs and their settle, in the cases that are hard for flow control. The yardstick runs in turn with them: a lane with
 * 1,000 waiting jobs, in a database that has nothing else.
 */
export async function claimFlow(environment: Environment): Promise<Figure[]> {
  await rows(environment.database, sql`create database plain`);
  const [plain, fixture] = [await FlowFixture.open(environment, "plain"), await FlowFixture.open(environment)];
  const plainLane = await plain.lane(FEW, { name: "plain" });
  const figures: Figure[] = [];
  for (const { name, queue = {}, put, refilled } of FLOW_CASES) {
    const lane = await putQueue(fixture.database, { name: "claim-flow", url: UNREACHABLE_URL, ...queue });
    await put(fixture, lane);
    await vacuumAnalyze(fixture.database);
    const limited = queue.concurrency !== undefined || queue.rate !== undefined;
    const [measured, yardstick] = await alternate(
      async (times) => {
        await fixture.claimAndSettle(times, [lane], TAKE, limited);
        if (refilled) await fixture.refill(lane, TAKE);
      },
      async (times) => {
        await plain.claimAndSettle(times, [plainLane], TAKE, false);
        await plain.refill(plainLane, TAKE);
      },
    );
    figures.push(claimFigure(`claim of ${TAKE} with ${name}`, measured, yardstick, BAR));
    figures.push(settleFigure(`settle of ${TAKE} with ${name}`, measured, yardstick));
    if (name.startsWith("10,000")) figures.push(...(await overAllQueues(fixture, plain, plainLane)));
    await clearJobs(fixture.database, "claim-flow");
  }
  await Promise.all([plain.close(), fixture.close()]);
  await rows(environment.database, sql`drop database plain`);
  return figures;
}

type Turn = (times: FlowTimes) => Promise<void>;

async function alternate(one: Turn, other: Turn): Promise<[FlowTimes, FlowTimes]> {
  const times = (): FlowTimes => ({ claims: [], settles: [] });
  const [ofOne, ofOther, ofNone] = [times(), times(), times()];
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    await one(round < 0 ? ofNone : ofOne);
    await other(round < 0 ? ofNone : ofOther);
  }
  return [ofOne, ofOther];
}

/** With 10,000 queues that have work, a node claims from many lanes in one statement, and finds all of them when it polls. */
async function overAllQueues(fixture: FlowFixture, plain: FlowFixture, plainLane: LaneKey): Promise<Figure[]> {
  const found = await findAll(fixture);
  let first = 0;
  const [measured, yardstick] = await alternate(
    async (times) => {
      const lanes = Array.from({ length: LANES_PER_CLAIM }, () => found[first++ % (QUEUES / 2)] as LaneKey);
      await fixture.claimAndSettle(times, lanes, TAKE_PER_LANE, false);
    },
    async (times) => {
      await plain.claimAndSettle(times, [plainLane], LANES_PER_CLAIM * TAKE_PER_LANE, false);
      await plain.refill(plainLane, LANES_PER_CLAIM * TAKE_PER_LANE);
    },
  );
  const looks = { many: [] as number[], one: [] as number[] };
  for (let round = 0; round < ROUNDS / 4; round += 1) {
    looks.many.push(await timeLook(fixture));
    looks.one.push(await timeLook(plain));
  }
  const name = `claim of ${LANES_PER_CLAIM} × ${TAKE_PER_LANE} from 10,000 queues`;
  return [
    claimFigure(name, measured, yardstick, null, "of as many from one"),
    settleFigure(`settle of ${LANES_PER_CLAIM} × ${TAKE_PER_LANE} from 10,000 queues`, measured, yardstick),
    {
      name: "scan for work with 10,000 queues that have some",
      measured: `${median(looks.many).toFixed(1)} ms`,
      yardstick: `${median(looks.one).toFixed(2)} ms with one`,
      ratio: "",
      bar: "",
      met: true,
    },
  ];
}

async function timeLook(fixture: FlowFixture): Promise<number> {
  const startedMs = performance.now();
  await findAll(fixture);
  return performance.now() - startedMs;
}

/** All lanes with work. One look finds a limited number of them. */
async function findAll({ database }: FlowFixture): Promise<LaneKey[]> {
  const found: LaneKey[] = [];
  let position = FROM_THE_START;
  do {
    const { lanes, next } = await findLanesWithWorkAcrossWorkspaces(database, position);
    found.push(...lanes);
    position = next;
  } while (position.afterWorkspace !== null || position.afterLanes.size > 0);
  return found;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const inMs = (values: readonly number[]): string => `${median(values).toFixed(2)} ms, mean ${mean(values).toFixed(2)}`;

function claimFigure(name: string, { claims }: FlowTimes, yardstick: FlowTimes, bar: number | null, plain = "with 1,000 waiting"): Figure {
  const ratio = median(claims) / median(yardstick.claims);
  return {
    name,
    measured: inMs(claims),
    yardstick: `${inMs(yardstick.claims)} ${plain}`,
    ratio: ratio.toFixed(2),
    bar: bar === null ? "" : `≤ ${bar}`,
    met: bar === null || ratio <= bar,
  };
}

const settleFigure = (name: string, { settles }: FlowTimes, yardstick: FlowTimes): Figure => ({
  name,
  measured: inMs(settles),
  yardstick: `${inMs(yardstick.settles)} without`,
  ratio: (median(settles) / median(yardstick.settles)).toFixed(2),
  bar: "",
  met: true,
});
