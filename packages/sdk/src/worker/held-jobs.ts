import type * as contract from "@tidemill/contract";
import { JobAbortedError } from "./errors.ts";

/** A job that the worker holds. */
export interface HeldJob {
  readonly taken: contract.TakenJob;
  readonly controller: AbortController;
}

/** The jobs that a worker holds, until their outcomes are reported. */
export class HeldJobs {
  readonly #jobs = new Map<string, HeldJob>();

  get size(): number {
    return this.#jobs.size;
  }

  add(taken: contract.TakenJob): HeldJob {
    const job = { taken, controller: new AbortController() };
    this.#jobs.set(taken.id, job);
    return job;
  }

  /** Returns false if the job was lost meanwhile: then its outcome no longer counts. */
  remove({ taken }: HeldJob): boolean {
    return this.#jobs.get(taken.id)?.taken.lease_token === taken.lease_token && this.#jobs.delete(taken.id);
  }

  /** The worker no longer holds this job; with a token, only if it is the job's present one. */
  lose(id: string, why: JobAbortedError["why"], token?: string): void {
    const job = this.#jobs.get(id);
    if (!job || (token !== undefined && job.taken.lease_token !== token)) return;
    this.#jobs.delete(id);
    job.controller.abort(new JobAbortedError(why));
  }

  /** Gives up the jobs that still run, and returns them. */
  removeAll(): HeldJob[] {
    const jobs = [...this.#jobs.values()];
    this.#jobs.clear();
    return jobs;
  }

  abortAll(why: JobAbortedError["why"]): void {
    for (const { controller } of this.#jobs.values()) controller.abort(new JobAbortedError(why));
  }

  *[Symbol.iterator](): Iterator<contract.TakenJob> {
    for (const { taken } of this.#jobs.values()) yield taken;
  }
}
