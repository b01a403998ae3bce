/** Writes a Markdown table. Line breaks and bars within cells are replaced or escaped. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll(/\s*\n\s*/g, " ").replaceAll("|", "\\|")).join(" | ")} |`)
    .join("\n");

export const code = (text: string): string => `\`${text}\``;
