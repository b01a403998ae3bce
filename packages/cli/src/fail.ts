/** Errors whose message is meant for the person at the terminal: their line says all, a stack would hide it. */
const FOR_PEOPLE: Record<string, (error: NodeJS.ErrnoException & { port?: number; address?: string; hostname?: string }) => string> = {
  EADDRINUSE: ({ port }) => `Port ${port} is taken. Set TIDEMILL_PORT (API) or TIDEMILL_INTERNAL_PORT (metrics) to another.`,
  EADDRNOTAVAIL: ({ address }) => `The address ${address} is not one of this machine's. Set TIDEMILL_HOST to another.`,
  ENOTFOUND: ({ hostname }) => `No address is known for the name ${hostname}. Set TIDEMILL_HOST to another.`,
  EACCES: ({ port, message }) => (port ? `Port ${port} may not be opened by this user. Set TIDEMILL_PORT to one above 1023.` : message),
};

/** Says in one line what is wrong and ends with exit code 1. */
export function fail(error: unknown): never {
  const known = error as NodeJS.ErrnoException & { details?: { issues?: { path: string; message: string }[] } };
  const issue = known.details?.issues?.[0];
  const line = FOR_PEOPLE[known.code ?? ""]?.(known) ?? (issue ? `${issue.path} ${issue.message}.` : (known.message ?? String(error)));
  process.stderr.write(`tidemill: ${line.split("\n")[0]}\n`);
  if (process.env.TIDEMILL_LOG_LEVEL === "debug") process.stderr.write(`${known.stack ?? ""}\n`);
  process.exit(1);
}
