/** How short names are completed. Source: resolv.conf(5). */
export interface SearchRules {
  readonly domains: readonly string[];
  /** A name with fewer dots is tried in the domains first, any other name is tried as it is first. */
  readonly ndots: number;
}

const DEFAULT_NDOTS = 1;
const MAX_NDOTS = 15;

/** The search rules in the text of `/etc/resolv.conf`. The last `search` or `domain` line counts. */
export function readSearchRules(text: string): SearchRules {
  let domains: string[] = [];
  let ndots = DEFAULT_NDOTS;
  for (const line of text.split("\n")) {
    const [keyword, ...values] = line.trim().split(/\s+/);
    if (keyword === "search" || keyword === "domain") domains = values.map((one) => one.replace(/\.$/, "")).filter((one) => one !== "");
    if (keyword === "options") ndots = readNdots(values) ?? ndots;
  }
  return { domains, ndots };
}

function readNdots(options: readonly string[]): number | undefined {
  const values = options.map((option) => /^ndots:(\d+)$/.exec(option)?.[1]).filter((value) => value !== undefined);
  const last = values.at(-1);
  return last === undefined ? undefined : Math.min(Number(last), MAX_NDOTS);
}

/** The full names that a name may stand for, in the order in which they are tried. */
export function fullNames(name: string, { domains, ndots }: SearchRules): readonly string[] {
  if (name.endsWith(".")) return [name.slice(0, -1)];
  const completed = domains.map((domain) => `${name}.${domain}`);
  const dots = name.split(".").length - 1;
  return dots >= ndots ? [name, ...completed] : [...completed, name];
}
