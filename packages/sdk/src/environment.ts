interface Host {
  readonly process?: { readonly pid?: number; readonly env?: Readonly<Record<string, string | undefined>> };
}

/** An environment variable; undefined when it is empty or not set, and where there is no `process.env`. */
export const readVariable = (name: string): string | undefined => (globalThis as Host).process?.env?.[name] || undefined;

/** The id of the process; undefined in runtimes without processes. */
export const processId = (): number | undefined => (globalThis as Host).process?.pid;
