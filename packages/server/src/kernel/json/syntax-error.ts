const SPACE = /[ \t\r\n]*/y;
const CHARACTERS = /(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/** The index of the first syntax error in a text that `JSON.parse` refuses. Much slower than parsing. */
export function syntaxErrorAt(text: string): number {
  let at = 0;
  const is = (mark: string): boolean => text[at] === mark && ++at > 0;
  const take = (token: RegExp): boolean => {
    token.lastIndex = at;
    const taken = token.test(text);
    if (taken) at = token.lastIndex;
    return taken;
  };
  const string = (): boolean => is('"') && take(CHARACTERS) && is('"');
  const member = (): boolean => take(SPACE) && string() && take(SPACE) && is(":") && value();
  const list = (item: () => boolean, close: string): boolean => {
    if (take(SPACE) && is(close)) return true;
    while (item()) if (!is(",")) return is(close);
    return false;
  };
  const one = (): boolean => (is("{") ? list(member, "}") : is("[") ? list(value, "]") : string() || take(SCALAR));
  const value = (): boolean => take(SPACE) && one() && take(SPACE);
  value();
  return at;
}

/** The line and column after a text, both counted from 1. */
export function positionAfter(text: string): string {
  let line = 1;
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) === 10) line++;
  return `line ${line}, column ${text.length - text.lastIndexOf("\n")}`;
}
