export type Encoding = "br" | "gzip";

/** The best compression that an `Accept-Encoding` header accepts (RFC 9110, 12.5.3). Null for none. */
export function chooseEncoding(header: string | undefined): Encoding | null {
  const accepted = new Map<string, boolean>();
  for (const part of (header ?? "").toLowerCase().split(",")) {
    const [name = "", ...parameters] = part.split(";").map((text) => text.trim());
    const refused = parameters.some((text) => /^q=0(\.0{0,3})?$/.test(text));
    if (name !== "") accepted.set(name, !refused);
  }
  const accepts = (name: Encoding) => accepted.get(name) ?? accepted.get("*") ?? false;
  return accepts("br") ? "br" : accepts("gzip") ? "gzip" : null;
}
