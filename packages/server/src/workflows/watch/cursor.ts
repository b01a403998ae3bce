/** What a reader of a run's events already has: the id of its last event. */
export interface EventCursor {
  /** The number of retries of the run: each renumbers the journal. */
  readonly retries: number;
  /** The last change of the journal. */
  readonly steps: number;
  /** Digests of the last `status` and `progress`. */
  readonly status: string;
  readonly progress: string;
}

const ID = /^(\d{1,9})\.(\d{1,9})\.([\w-]{8})\.([\w-]{8})$/;

export const showEventCursor = ({ retries, steps, status, progress }: EventCursor): string => `${retries}.${steps}.${status}.${progress}`;

/** Reads a cursor. Null if the text is not a cursor: then the reader gets the whole run. */
export function readEventCursor(id: string | undefined): EventCursor | null {
  const [, retries, steps, status, progress] = ID.exec(id ?? "") ?? [];
  if (status === undefined || progress === undefined) return null;
  return { retries: Number(retries), steps: Number(steps), status, progress };
}
