/** What HTML calls the characters of ASCII that have names there. */
const OF_ASCII: readonly (readonly [character: string, names: string])[] = [
  ["\t", "Tab"],
  ["\n", "NewLine"],
  ["!", "excl"],
  ['"', "quot QUOT"],
  ["#", "num"],
  ["$", "dollar"],
  ["%", "percnt"],
  ["&", "amp AMP"],
  ["'", "apos"],
  ["(", "lpar"],
  [")", "rpar"],
  ["*", "ast midast"],
  ["+", "plus"],
  [",", "comma"],
  [".", "period"],
  ["/", "sol"],
  [":", "colon"],
  [";", "semi"],
  ["<", "lt LT"],
  ["=", "equals"],
  [">", "gt GT"],
  ["?", "quest"],
  ["@", "commat"],
  ["[", "lsqb lbrack"],
  ["\\", "bsol"],
  ["]", "rsqb rbrack"],
  ["^", "Hat"],
  ["_", "lowbar UnderBar"],
  ["`", "grave DiacriticalGrave"],
  ["{", "lcub lbrace"],
  ["|", "verbar vert VerticalLine"],
  ["}", "rcub rbrace"],
];

/** The same of Latin-1, from U+00A0 on. */
const OF_LATIN1 = `nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro
  para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute
  Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN
  szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute
  ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml`.split(/\s+/);

/** Characters of ASCII and Latin-1 by the names that HTML has for them. Source: HTML, Named character references. */
export const ENTITIES: ReadonlyMap<string, string> = new Map([
  ...OF_ASCII.flatMap(([character, names]) => names.split(" ").map((name) => [name, character] as const)),
  ...OF_LATIN1.map((name, index) => [name, String.fromCharCode(0xa0 + index)] as const),
]);
