/** What is wrong with a text as a whole number. Null if nothing is. Unlike `Number`, it takes neither "1e3" nor an empty text for one. */
export const wholeNumberProblem = (text: string): string | null =>
  /^\d+$/.test(text.trim()) ? null : "It takes a whole number in digits, like 1000.";
