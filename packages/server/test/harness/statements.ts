/** Tells the engine's statements apart on their way from the database, by what they do and how much of it. */
type Done = { readonly text: string; readonly tag: string };

/** A claim that brought so many jobs. */
export const isClaim =
  (jobs: number) =>
  ({ text, tag }: Done): boolean =>
    /update job\s[^;]*set state = 'active'/.test(text) && tag.endsWith(` ${jobs}`);

export const isEnqueue = ({ text }: Done): boolean => /insert into job\s*\(/.test(text);

/** A settle of jobs that completed. */
export const isSettle = ({ text }: Done): boolean => /delete from job\b/.test(text) && /insert into job_history/.test(text);

/** The renewal of a node's lease. */
export const isRenewal = ({ text }: Done): boolean => /update lease set expires_at = now\(\) \+/.test(text);
