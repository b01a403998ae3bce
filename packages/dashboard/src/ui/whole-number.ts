/** What is wrong with a text as a whole number. Null if nothing is wrong. Unlike `Number`, it accepts neither "1e3" nor an empty text. */
export const wholeNumberProblem = (text: string): string | null =>
  /^\d+$/.test(text.trim()) ? null : "Enter a whole number in digits, like 1000.";
