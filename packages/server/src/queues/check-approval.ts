import type { CreateQueue, PatchQueue, QueueType } from "@tidemill/contract";
import { invalid } from "#kernel";

/**
 * Checks that only a queue of type `approval` gets approval settings.
 *
 * @throws VALIDATION_ERROR
 */
export function checkApproval(type: QueueType, { approval }: CreateQueue | PatchQueue): void {
  if (approval && type !== "approval") throw invalid("approval", "is only for queues of type approval");
}
