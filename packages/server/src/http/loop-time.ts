import type { FastifyRequest } from "fastify";
import type { LoopTime, SlicedWork, WorkspaceId } from "#kernel";

/**
 * Runs work on a request in slices. The work, and what it holds, is dropped when the connection ends.
 *
 * @param characters the length of the text that is processed
 * @throws {WorkDroppedError}, and what the work throws
 */
export function runForRequest<Result>(
  loopTime: LoopTime,
  { raw: { socket } }: FastifyRequest,
  workspaceId: WorkspaceId,
  characters: number,
  work: SlicedWork<Result>,
): Result | Promise<Result> {
  const result = loopTime.run(workspaceId, characters, work);
  if (!(result instanceof Promise)) return result;
  const drop = () => loopTime.drop(work);
  if (socket.destroyed) drop();
  else socket.once("close", drop);
  return result.finally(() => socket.off("close", drop));
}
