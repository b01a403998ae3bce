interface Host {
  readonly process?: {
    readonly pid?: number;
    readonly env?: Readonly<Record<string, string | undefined>>;
    readonly stdout?: { readonly isTTY?: boolean };
  };
}

/** An environment variable; undefined when it is empty or not set, and where there is no `process.env`. */
export const readVariable = (name: string): string | undefined => (globalThis as Host).process?.env?.[name] || undefined;

/** The id of the process; undefined in runtimes without processes. */
export const processId = (): number | undefined => (globalThis as Host).process?.pid;

/** Whether this is a development environment: `NODE_ENV` says so, or it is not set and the process runs in a terminal. */
export function isDevelopment(): boolean {
  const environment = readVariable("NODE_ENV");
  return environment === "development" || (environment === undefined && (globalThis as Host).process?.stdout?.isTTY === true);
}
