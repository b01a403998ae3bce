import { readFile, stat } from "node:fs/promises";
import type { Clock } from "#kernel";
import { readHosts } from "./hosts-file.ts";
import type { Address } from "./resolution.ts";
import { readSearchRules, type SearchRules } from "./search-rules.ts";

/** How long a file is trusted before it is checked again. Milliseconds. */
const RECHECK_MS = 2_000;

/** What the machine's files say about names. */
export interface SystemNames {
  readonly hosts: ReadonlyMap<string, readonly Address[]>;
  /** A new object after each change of `/etc/resolv.conf`. */
  readonly search: SearchRules;
}

/** Reads `/etc/hosts` and `/etc/resolv.conf`, and reads them again after they change. */
export class SystemFiles {
  readonly #clock: Pick<Clock, "elapsedMs">;
  readonly #hosts: WatchedFile<SystemNames["hosts"]>;
  readonly #search: WatchedFile<SearchRules>;
  #current: SystemNames;
  #checkedMs = Number.NEGATIVE_INFINITY;
  #checking: Promise<SystemNames> | undefined;

  constructor(clock: Pick<Clock, "elapsedMs">, { hosts = "/etc/hosts", resolvConf = "/etc/resolv.conf" } = {}) {
    this.#clock = clock;
    this.#hosts = new WatchedFile(hosts, readHosts);
    this.#search = new WatchedFile(resolvConf, readSearchRules);
    this.#current = this.#read();
  }

  /** What the files say. A promise unless they were checked recently. */
  read(): SystemNames | Promise<SystemNames> {
    if (this.#clock.elapsedMs() - this.#checkedMs < RECHECK_MS) return this.#current;
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  async #check(): Promise<SystemNames> {
    await Promise.all([this.#hosts.check(), this.#search.check()]);
    this.#checkedMs = this.#clock.elapsedMs();
    this.#current = this.#read();
    return this.#current;
  }

  #read(): SystemNames {
    return { hosts: this.#hosts.content, search: this.#search.content };
  }
}

class WatchedFile<Content> {
  content: Content;
  readonly #path: string;
  readonly #parse: (text: string) => Content;
  #stamp = "";

  constructor(path: string, parse: (text: string) => Content) {
    this.#path = path;
    this.#parse = parse;
    this.content = parse("");
  }

  /** Reads the file if it has changed. For a file that cannot be read, its previous content is kept. */
  async check(): Promise<void> {
    try {
      const { mtimeMs, ctimeMs, size, ino } = await stat(this.#path);
      const stamp = [mtimeMs, ctimeMs, size, ino].join();
      if (stamp === this.#stamp) return;
      this.content = this.#parse(await readFile(this.#path, "utf8"));
      this.#stamp = stamp;
    } catch {
      // Such a file is absent, or is being replaced, or there is no descriptor for it.
    }
  }
}
