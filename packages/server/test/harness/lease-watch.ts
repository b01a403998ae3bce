interface Row {
  readonly job: string;
  readonly node: string;
  readonly attempt: number;
}

/**
 * Polls which lease holds each active job. It is a violation of I3 if a job moves to another node while the first node's lease still
 * holds. For tests in which a job moves only when its node is lost.
 */
export class LeaseWatch {
  readonly violations: string[] = [];
  looks = 0;
  #stopped = false;
  readonly #done: Promise<void>;
  readonly #seen = new Map<string, Row>();

  private constructor(query: (text: string) => Promise<unknown[]>) {
    this.#done = this.#look(query);
  }

  static over(query: (text: string) => Promise<unknown[]>): LeaseWatch {
    return new LeaseWatch(query);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#done;
  }

  async #look(query: (text: string) => Promise<unknown[]>): Promise<void> {
    while (!this.#stopped) {
      // One statement reads claims and leases from the same snapshot.
      const [moment] = (await query(`
        select (select coalesce(json_agg(json_build_object('job', id, 'node', lease_id::text, 'attempt', attempt)), '[]') from job where state = 'active') as claims,
          (select coalesce(json_agg(id::text), '[]') from lease where expires_at > now()) as held`)) as { claims: Row[]; held: string[] }[];
      this.#compare(moment?.claims ?? [], new Set(moment?.held));
      this.looks += 1;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  #compare(claims: Row[], held: Set<string>): void {
    for (const claim of claims) {
      const before = this.#seen.get(claim.job);
      if (before && before.node !== claim.node && held.has(before.node)) {
        this.violations.push(`${claim.job}: attempt ${before.attempt} on node ${before.node}, then ${claim.attempt} on ${claim.node}`);
      }
      this.#seen.set(claim.job, claim);
    }
  }
}
