import { InvalidArgumentError } from "commander";

const MAX_TIMEOUT_SECONDS = 604_800;

/** The value of `--timeout`. */
export function readSeconds(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text) || Number(text) > MAX_TIMEOUT_SECONDS)
    throw new InvalidArgumentError(`Expected whole seconds, from 1 to ${MAX_TIMEOUT_SECONDS}.`);
  return Number(text);
}
