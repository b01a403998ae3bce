/**
 * An error of the command's parser in the form that all errors have: on one line, as sentences.
 *
 * @param text what commander would print, like "error: unknown command 'creat'\n(Did you mean create?)\n"
 */
export function usageError(text: string): string {
  const [first = "", hint] = text
    .trim()
    .replace(/^error: /, "")
    .split(/\n\((.*)\)$/s);
  const sentence = `${first.charAt(0).toUpperCase()}${first.slice(1)}${/[.?]$/.test(first) ? "" : "."}`;
  return `tidemill: ${sentence}${hint === undefined ? "" : ` ${hint}`}\n`;
}
