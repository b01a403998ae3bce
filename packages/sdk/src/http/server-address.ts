/** Where requests go, in parts: to take a URL apart for each request would take longer than the rest of it. */
export interface ServerAddress {
  readonly isEncrypted: boolean;
  /** Name or IP address, as sockets take it. */
  readonly hostname: string;
  readonly port: number;
  /** Host and port as the header `host` has them. */
  readonly host: string;
  /** Prefix of the path of each request. */
  readonly path: string;
}

/** @param url of http or https, without a query */
export function serverAddress(url: string): ServerAddress {
  const { protocol, hostname, host, port, pathname } = new URL(url);
  const isEncrypted = protocol === "https:";
  return {
    isEncrypted,
    // An IPv6 address is in brackets in URLs only.
    hostname: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? (isEncrypted ? 443 : 80) : Number(port),
    host,
    path: pathname.replace(/\/+$/, ""),
  };
}
