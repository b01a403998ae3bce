import { TidemillError } from "../error.ts";

/** Whether a call was refused because the run is no longer this worker's. */
export const isLeaseLost = (error: unknown): boolean => error instanceof TidemillError && error.code === "LEASE_LOST";
