/** A line of JSON as it is shown. */
export interface JsonLine {
  readonly depth: number;
  /** The member's name with its quotes, as sent. */
  readonly name: string | null;
  /** A value as sent, or a bracket. */
  readonly text: string;
  readonly kind: "string" | "number" | "word" | "open" | "close";
  readonly comma: boolean;
  /** For an opening bracket: the line of the closing one. */
  readonly end: number | null;
  /** For an opening bracket: how many members or items it has. */
  readonly count: number;
}

type Draft = { -readonly [Key in keyof JsonLine]: JsonLine[Key] };

const TOKEN = /\s*(?:("(?:[^"\\]|\\.)*")|([{}[\],:])|([^\s"{}[\],:]+))/gy;

/** The largest number of lines to show. */
const MAX_LINES = 50_000;

/**
 * Lays out JSON as lines, by its text alone: no value is made, so digits, duplicate names and their order stay as they were sent. Null for a
 * text that is not JSON, or has too many lines.
 */
export function layoutJson(text: string): JsonLine[] | null {
  const lines: Draft[] = [];
  const open: number[] = [];
  let name: string | null = null;
  let pending: string | null = null;
  const push = (line: Pick<Draft, "text" | "kind">) => {
    const parent = open.at(-1);
    if (parent !== undefined && line.kind !== "close") (lines[parent] as Draft).count++;
    lines.push({ depth: open.length, name, comma: false, end: null, count: 0, ...line });
    name = null;
  };
  const flush = () => {
    if (pending !== null) push({ text: pending, kind: kindOf(pending) });
    pending = null;
  };
  TOKEN.lastIndex = 0;
  let at = 0;
  while (at < text.trimEnd().length) {
    TOKEN.lastIndex = at;
    const [, string, mark, word] = TOKEN.exec(text) ?? [];
    if (TOKEN.lastIndex === 0 || lines.length > MAX_LINES) return null;
    at = TOKEN.lastIndex;
    if (mark === undefined) {
      if (pending !== null) return null;
      pending = string ?? word ?? "";
    } else if (mark === ":") {
      name = pending;
      pending = null;
    } else if (mark === "{" || mark === "[") {
      push({ text: mark, kind: "open" });
      open.push(lines.length - 1);
    } else {
      flush();
      const last = lines.at(-1);
      if (mark === ",") {
        if (!last) return null;
        last.comma = true;
      } else close(mark);
    }
  }
  flush();
  return open.length === 0 && lines.length > 0 ? lines : null;

  function close(mark: string): void {
    const from = open.pop();
    const begin = from === undefined ? undefined : lines[from];
    if (from === undefined || !begin) return;
    if (from === lines.length - 1) {
      begin.text += mark;
      begin.kind = "word";
      return;
    }
    push({ text: mark, kind: "close" });
    begin.end = lines.length - 1;
  }
}

function kindOf(text: string): JsonLine["kind"] {
  if (text.startsWith('"')) return "string";
  return /^-?\d/.test(text) ? "number" : "word";
}
