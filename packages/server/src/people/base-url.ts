/** Where people reach the dashboard. Null: at whatever name they used. */
export interface PublicUrl {
  /** The URL without a slash at its end, like `https://jobs.example.com/tidemill`. */
  readonly base: string | null;
  readonly origin: string | null;
  /** The path in front of `/dashboard`, empty for most. A proxy removes it. */
  readonly path: string;
  readonly secure: boolean;
}

export function readPublicUrl(publicUrl: string | null): PublicUrl {
  const url = publicUrl === null ? null : URL.parse(publicUrl);
  if (!url) return { base: null, origin: null, path: "", secure: false };
  const path = url.pathname.replace(/\/+$/, "");
  return { base: url.origin + path, origin: url.origin, path, secure: url.protocol === "https:" };
}
