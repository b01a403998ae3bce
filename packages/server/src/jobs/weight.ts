/** Most weight of the jobs that one statement writes: by number for small ones, by size for large ones. */
export const MOST_WEIGHT = 500;

/** Characters of a payload that count as one more job. */
export const CHARACTERS_OF_WEIGHT = 8_000;

/** What a job counts in a statement that writes its payload: one, and one more for each 8,000 characters. */
export const weightOf = (payload: string): number => 1 + Math.floor(payload.length / CHARACTERS_OF_WEIGHT);
