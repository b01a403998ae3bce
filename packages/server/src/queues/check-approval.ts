import type { CreateQueue, PatchQueue, QueueType } from "@tidemill/contract";
import { invalid } from "#kernel";

/**
 * Checks that only an approval queue is told how its jobs are decided.
 *
 * @throws VALIDATION_ERROR
 */
export function checkApproval(type: QueueType, { approval }: CreateQueue | PatchQueue): void {
  if (approval && type !== "approval") throw invalid("approval", "is for queues of type approval alone");
}
