/** The limit of one statement that writes jobs: 500 small ones, or fewer large ones. */
export const MAX_WEIGHT = 500;

/** This many characters of payload weigh as much as one more job. */
export const CHARACTERS_PER_WEIGHT = 8_000;

/** The weight of a job in a statement that writes its payload: 1, and 1 more for each 8,000 characters. */
export const weightOf = ({ length }: { readonly length: number }): number => 1 + Math.floor(length / CHARACTERS_PER_WEIGHT);
