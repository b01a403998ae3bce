import { findLanesWithWorkAcrossWorkspaces } from "../../packages/server/src/jobs/index.ts";
import { rows, sql } from "../../packages/server/src/kernel/index.ts";
import { FEW, FLOW_CASES, QUEUES, TAKE } from "../flow-cases.ts";
import { FlowGround, type FlowTimes, NOBODY } from "../flow-ground.ts";
import { clearJobs, type LaneOf, putQueue, tidy } from "../put-jobs.ts";
import { type Figure, median } from "../table.ts";
import type { Yard } from "../yard.ts";

const ROUNDS = 200;
const WARM_UP = 10;
/** What a node claims at once where all lanes have work: of so many, so many each. */
const LANES_A_CLAIM = 128;
const TAKE_OF_EACH = 3;
const BAR = 1.5;

/**
 * One claim of 50 jobs, and the settle of what it brought, where flow control has much to look after, in turn with those of a lane with
 * 1,000 waiting jobs in a database that has nothing else.
 */
export async function claimFlow(yard: Yard): Promise<Figure[]> {
  await rows(yard.database, sql`create database plain`);
  const [plain, ground] = [await FlowGround.open(yard, "plain"), await FlowGround.open(yard)];
  const plainLane = await plain.lane(FEW, { name: "plain" });
  const figures: Figure[] = [];
  for (const { name, queue = {}, put, refilled } of FLOW_CASES) {
    const lane = await putQueue(ground.database, { name: "claim-flow", url: NOBODY, ...queue });
    await put(ground, lane);
    await tidy(ground.database);
    const limited = queue.concurrency !== undefined || queue.rate !== undefined;
    const [measured, yardstick] = await inTurn(
      async (times) => {
        await ground.turn(times, [lane], TAKE, limited);
        if (refilled) await ground.refill(lane, TAKE);
      },
      async (times) => {
        await plain.turn(times, [plainLane], TAKE, false);
        await plain.refill(plainLane, TAKE);
      },
    );
    figures.push(claimFigure(`claim of ${TAKE} with ${name}`, measured, yardstick, BAR));
    figures.push(settleFigure(`settle of ${TAKE} with ${name}`, measured, yardstick));
    if (name.startsWith("10,000")) figures.push(...(await overAllQueues(ground, plain, plainLane)));
    await clearJobs(ground.database, "claim-flow");
  }
  await Promise.all([plain.close(), ground.close()]);
  await rows(yard.database, sql`drop database plain`);
  return figures;
}

type Turn = (times: FlowTimes) => Promise<void>;

async function inTurn(one: Turn, other: Turn): Promise<[FlowTimes, FlowTimes]> {
  const times = (): FlowTimes => ({ claims: [], settles: [] });
  const [ofOne, ofOther, ofNone] = [times(), times(), times()];
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    await one(round < 0 ? ofNone : ofOne);
    await other(round < 0 ? ofNone : ofOther);
  }
  return [ofOne, ofOther];
}

/** What a node does where 10,000 queues have work: it claims from many at once, and looks for them all. */
async function overAllQueues(ground: FlowGround, plain: FlowGround, plainLane: LaneOf): Promise<Figure[]> {
  const found = await findLanesWithWorkAcrossWorkspaces(ground.database);
  let first = 0;
  const [measured, yardstick] = await inTurn(
    async (times) => {
      const lanes = Array.from({ length: LANES_A_CLAIM }, () => found[first++ % (QUEUES / 2)] as LaneOf);
      await ground.turn(times, lanes, TAKE_OF_EACH, false);
    },
    async (times) => {
      await plain.turn(times, [plainLane], LANES_A_CLAIM * TAKE_OF_EACH, false);
      await plain.refill(plainLane, LANES_A_CLAIM * TAKE_OF_EACH);
    },
  );
  const looks = { many: [] as number[], one: [] as number[] };
  for (let round = 0; round < ROUNDS / 4; round += 1) {
    looks.many.push(await timeLook(ground));
    looks.one.push(await timeLook(plain));
  }
  const name = `claim of ${LANES_A_CLAIM} × ${TAKE_OF_EACH} from 10,000 queues`;
  return [
    claimFigure(name, measured, yardstick, null, "of as many from one"),
    settleFigure(`settle of ${LANES_A_CLAIM} × ${TAKE_OF_EACH} from 10,000 queues`, measured, yardstick),
    {
      name: "look for work with 10,000 queues that have some",
      measured: `${median(looks.many).toFixed(1)} ms`,
      yardstick: `${median(looks.one).toFixed(2)} ms with one`,
      ratio: "",
      bar: "",
      met: true,
    },
  ];
}

async function timeLook({ database }: FlowGround): Promise<number> {
  const startedMs = performance.now();
  await findLanesWithWorkAcrossWorkspaces(database);
  return performance.now() - startedMs;
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
