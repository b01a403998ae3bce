/** Every IPv4 network that is not globally reachable. Source: IANA, IPv4 Special-Purpose Address Registry. */
export const REFUSED_V4 = [
  "0.0.0.0/8", // this host
  "10.0.0.0/8", // private
  "100.64.0.0/10", // CGNAT; 100.100.100.200 is Alibaba's metadata host
  "127.0.0.0/8", // loopback
  "168.63.129.16/32", // Azure's metadata host, on a public address
  "169.254.0.0/16", // link-local; 169.254.169.254 is the metadata host of most clouds
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments; 192.0.0.192 is Oracle's metadata host
  "192.0.2.0/24", // documentation
  "192.88.99.0/24", // 6to4 relays
  "192.168.0.0/16", // private
  "198.18.0.0/15", // benchmarks
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, and broadcast
];

/**
 * Everything outside global unicast (2000::/3) is refused. So are its ranges that contain no hosts or embed IPv4 addresses.
 * Source: IANA, IPv6 Address Space and IPv6 Special-Purpose Address Registry.
 */
export const REFUSED_V6 = [
  "::/3", // ::, loopback, v4-compatible, v4-translated, NAT64 64:ff9b::/96 and 64:ff9b:1::/48, 100::/64
  "4000::/2", // segment routing 5f00::/16
  "8000::/1", // ULA fc00::/7 with fd00:ec2::254, link-local fe80::/10, site-local fec0::/10, multicast ff00::/8
  "2001::/23", // protocol assignments: Teredo 2001::/32, benchmarks 2001:2::/48, AMT, AS112, ORCHID
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4
  "3fff::/20", // documentation
];

export const LOOPBACK = ["127.0.0.0/8", "::1"];

/** The addresses of `localhost` and the names under it. Source: RFC 6761, section 6.3. */
export const LOCALHOST = ["127.0.0.1", "::1"];

/** Documented names of the host from which machines at Amazon and Google get their credentials. */
export const METADATA_NAMES: ReadonlySet<string> = new Set([
  "instance-data", // Amazon EC2, by the network's search domain
  "instance-data.ec2.internal",
  "metadata", // Google Compute Engine, by the network's search domain
  "metadata.goog",
  "metadata.google.internal",
]);
export const METADATA_HOST = "169.254.169.254";
