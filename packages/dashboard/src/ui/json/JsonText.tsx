import { Button } from "@mantine/core";
import { useMemo, useState } from "react";
import { RawJson } from "../../api/raw-json.ts";
import { CopyButton } from "../CopyButton.tsx";
import { Icon } from "../Icon.tsx";
import classes from "./JsonText.module.css";
import { type JsonLine, layoutJson } from "./layout-json.ts";

/** A longer text is shown in part until the person requests all of it. Characters. */
const SHOWN_CHARS = 128 * 1024;
const SHOWN_LINES = 300;

export interface JsonTextProps {
  readonly value: RawJson | string | null;
  /** What it is, for the copy button and for screen readers: `payload`. */
  readonly label: string;
  /** Shown when there is no value. */
  readonly none?: string;
}

/** JSON as it was sent: by its text, so that every digit stays. Folds, copies, and shows a huge value in part. */
export function JsonText({ value, label, none = "none" }: JsonTextProps) {
  const text = value instanceof RawJson ? value.text : value;
  if (text === null) return <p className={classes.none}>{none}</p>;
  return (
    <div className={classes.box}>
      <div className={classes.tools}>
        <span className={classes.size}>{sizeOf(text)}</span>
        <CopyButton text={text} label={`Copy the ${label}`} />
      </div>
      <Lines key={text.slice(0, 256) + text.length} text={text} label={label} />
    </div>
  );
}

function Lines({ text, label }: { text: string; label: string }) {
  const [whole, setWhole] = useState(text.length <= SHOWN_CHARS);
  const lines = useMemo(() => (whole ? layoutJson(text) : null), [text, whole]);
  const [folded, setFolded] = useState<ReadonlySet<number>>(new Set());
  const [shown, setShown] = useState(SHOWN_LINES);
  if (!whole) {
    return (
      <>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
        <section className={classes.text} tabIndex={0} aria-label={`Beginning of the ${label}`}>
          {text.slice(0, SHOWN_CHARS / 16)}…
        </section>
        <Button m="xs" onClick={() => setWhole(true)}>
          Show all of it
        </Button>
      </>
    );
  }
  const visible = lines ? visibleLines(lines, folded) : [];
  const toggle = (at: number) => setFolded((old) => new Set(old.has(at) ? [...old].filter((one) => one !== at) : [...old, at]));
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: as above. */}
      <section className={classes.text} tabIndex={0} aria-label={label}>
        {lines
          ? visible
              .slice(0, shown)
              .map((at) => <Line key={at} line={lines[at] as JsonLine} folded={folded.has(at)} onToggle={() => toggle(at)} />)
          : text}
      </section>
      {visible.length > shown && (
        <Button m="xs" onClick={() => setShown(shown * 4)}>
          Show more of {visible.length} lines
        </Button>
      )}
    </>
  );
}

function Line({ line, folded, onToggle }: { line: JsonLine; folded: boolean; onToggle: () => void }) {
  const { depth, name, text, kind, comma, end, count } = line;
  return (
    <div className={classes.line} style={{ paddingLeft: `${depth * 1.25 + 1.25}em` }}>
      {end !== null && (
        <button type="button" className={classes.fold} aria-expanded={!folded} aria-label={folded ? "Unfold" : "Fold"} onClick={onToggle}>
          <Icon name={folded ? "chevronRight" : "chevronDown"} size={10} />
        </button>
      )}
      {name !== null && (
        <>
          <span className={classes.name}>{name}</span>
          {": "}
        </>
      )}
      <span data-kind={kind}>{text}</span>
      {folded && (
        <span className={classes.count}>
          {` ${count} ${text === "{" ? (count === 1 ? "member" : "members") : count === 1 ? "item" : "items"} ${text === "{" ? "}" : "]"}`}
        </span>
      )}
      {comma && !folded && ","}
    </div>
  );
}

/** The lines that no folded bracket hides. */
function visibleLines(lines: readonly JsonLine[], folded: ReadonlySet<number>): number[] {
  const visible: number[] = [];
  for (let at = 0; at < lines.length; at++) {
    visible.push(at);
    if (folded.has(at)) at = lines[at]?.end ?? at;
  }
  return visible;
}

function sizeOf({ length }: string): string {
  if (length < 1024) return length === 1 ? "1 character" : `${length} characters`;
  return length < 1024 * 1024 ? `${Math.round(length / 1024)} k` : `${(length / 1024 / 1024).toFixed(1)} M`;
}
