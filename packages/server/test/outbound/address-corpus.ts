/** Addresses that callbacks may not reach: loopback, this host, private, CGNAT, link-local and the metadata hosts of clouds. */
const REFUSED = ["127.0.0.1", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.0.1", "100.100.100.200", "169.254.169.254", "168.63.129.16"];

type Octets = readonly [number, number, number, number];

const hex = (value: number, width = 1): string => value.toString(16).padStart(width, "0");
const octal = (value: number): string => `0${value.toString(8)}`;
const whole = ([a, b, c, d]: Octets): number => ((a * 256 + b) * 256 + c) * 256 + d;
/** The two groups of an IPv6 address that hold an IPv4 address. */
const groups = ([a, b, c, d]: Octets): string => `${hex(a)}${hex(b, 2)}:${hex(c)}${hex(d, 2)}`;
const wide = (text: string): string => text.replace(/[\dA-Za-z.]/g, (one) => String.fromCodePoint((one.codePointAt(0) as number) + 0xfee0));
const circled = (text: string): string => text.replace(/\d/g, (one) => "⓪①②③④⑤⑥⑦⑧⑨"[Number(one)] as string);
const escaped = (text: string): string => text.replace(/./g, (one) => `%${hex(one.charCodeAt(0), 2)}`);

/** The spellings of an IPv4 address in a URL. */
const IPV4_SPELLINGS: Readonly<Record<string, (octets: Octets) => string>> = {
  dotted: (octets) => octets.join("."),
  "with a trailing dot": (octets) => `${octets.join(".")}.`,
  "with two trailing dots": (octets) => `${octets.join(".")}..`,
  decimal: (octets) => String(whole(octets)),
  hexadecimal: (octets) => `0x${hex(whole(octets))}`,
  octal: (octets) => octal(whole(octets)),
  "octets in hexadecimal": (octets) => octets.map((octet) => `0X${hex(octet).toUpperCase()}`).join("."),
  "octets in octal": (octets) => octets.map(octal).join("."),
  "leading zeros": (octets) => octets.map((octet) => `000000${octal(octet)}`).join("."),
  "bases mixed": ([a, b, c, d]) => `0x${hex(a)}.${octal(b)}.${c}.0x000${hex(d)}`,
  "three parts": ([a, b, c, d]) => `${a}.${b}.${c * 256 + d}`,
  "two parts": ([a, b, c, d]) => `${a}.${(b * 256 + c) * 256 + d}`,
  "two parts in hexadecimal": ([a, b, c, d]) => `0x${hex(a)}.0x${hex((b * 256 + c) * 256 + d)}`,
  "wide digits": (octets) => wide(octets.join(".")),
  "circled digits": (octets) => circled(octets.join(".")),
  "Chinese full stops": (octets) => octets.join("。"),
  "half-width full stops": (octets) => octets.join("｡"),
  percents: (octets) => escaped(octets.join(".")),
  overflowing: (octets) => String(whole(octets) + 2 ** 32),
  "octets overflowing": ([a, b, c, d]) => `${a + 256}.${b}.${c}.${d + 256}`,
};

/** IPv6 addresses that a network, a gateway or a tunnel takes for the IPv4 address in them. */
const IPV6_WRAPPINGS: Readonly<Record<string, (octets: Octets) => string>> = {
  mapped: (octets) => `::ffff:${octets.join(".")}`,
  "mapped, in groups": (octets) => `::ffff:${groups(octets)}`,
  "mapped, in full": (octets) => `0000:0000:0000:0000:0000:FFFF:${octets.join(".")}`,
  compatible: (octets) => `::${groups(octets)}`,
  translated: (octets) => `::ffff:0:${octets.join(".")}`,
  NAT64: (octets) => `64:ff9b::${octets.join(".")}`,
  "local NAT64": (octets) => `64:ff9b:1::${groups(octets)}`,
  "6to4": (octets) => `2002:${groups(octets)}::1`,
  "Teredo's client": (octets) => `2001:0:4136:e378:8000:63bf:${groups(octets.map((octet) => octet ^ 0xff) as unknown as Octets)}`,
  "Teredo's server": (octets) => `2001:0:${groups(octets)}:8000:63bf:3fff:fdd2`,
  ISATAP: (octets) => `fe80::5efe:${octets.join(".")}`,
  "with a zone id": (octets) => `::ffff:${octets.join(".")}%25lo`,
};

const IPV6 = [
  ..."::1 ::01 0::1 0:0::0:1 0:0:0:0:0:0:0:1 0000:0000:0000:0000:0000:0000:0000:0001 ::0.0.0.1 :: 0:0:0:0:0:0:0:0 ::0.0.0.0".split(" "),
  ..."fe80::1 FE80::A9FE:A9FE febf::1 fec0::1 fc00::1 fdff:ffff::1 fd00:ec2::254 fd20:ce::254 ff02::1 ff0e::1".split(" "),
  ..."100::1 100:0:0:1::1 200::1 2001:db8::1 3fff::1 2001:2::1 2001:3::1 2001:4:112::1 2001:10::1 2001:20::1 4000::1 5f00::1".split(" "),
  ..."::1%25lo ::1%lo fe80::1%25eth0 fe80::1%eth0 fe80::1%251".split(" "),
];

const IPV4_MORE = [
  ..."127.1 127.0.1 127.255.255.254 127.0.0.2 127.0.0.0x1 0 0x 0x0 00 0.0 0.0.0 0.0.0.0x 0.255.255.255 10.255.255.255 172.31.255.255".split(
    " ",
  ),
  ..."100.64.0.1 100.127.255.255 169.254.0.1 169.254.170.2 192.0.0.1 192.0.0.192 192.0.2.1 192.88.99.1 198.18.0.1 198.19.255.255".split(
    " ",
  ),
  ..."198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 0xffffffff 4294967295 1２7.0.0.1 127。1 ①②⑦.1".split(
    " ",
  ),
  ..."127%2e0%2e0%2e1 %EF%BC%91%32%37.1 127.0.0.1%00.example.com 127.0.0.1%0d%0a 127.0.0.1%09 𝟭𝟮𝟳.𝟬.𝟬.𝟭 127.0.0.1\u00ad 127.0.0.1\u200b".split(
    " ",
  ),
];

/** Names that never mean anything else than loopback or a metadata host. */
const NAMES = [
  ..."localhost LOCALHOST LocalHost. localhost.. x.localhost a.b.LOCALHOST. 127.0.0.1.localhost localhost%2e %6Cocalhost".split(" "),
  ..."ｌｏｃａｌｈｏｓｔ ⓛⓞⓒⓐⓛⓗⓞⓢⓣ localhoſt local\u00adhost loc\u200balhost x。localhost".split(" "),
  ..."metadata METADATA. metadata.google.internal METADATA.GOOGLE.INTERNAL. metadata。google。internal metadata.goog".split(" "),
  ..."instance-data instance-data.ec2.internal".split(" "),
];

const octetsOf = (address: string): Octets => address.split(".").map(Number) as unknown as Octets;
const every = (forms: Readonly<Record<string, (octets: Octets) => string>>): string[] =>
  REFUSED.flatMap((address) => Object.values(forms).map((spell) => spell(octetsOf(address))));

/** URLs that mislead people and parsers. Each means a refused address, or is not valid. */
const tricksAt = (port: number): string[] => [
  ...["example.com@", "example.com:80@", "a@b@", "@", ":@", "example.com%23@", "127.0.0.1:1@", "[::1]@"].map(
    (user) => `http://${user}127.0.0.1:${port}/`,
  ),
  ...["\\@example.com", "\\.example.com", "\\\\example.com/", "#@example.com/", "?@example.com/", "/@example.com"].map(
    (rest) => `http://127.0.0.1:${port}${rest}`,
  ),
  ...[
    "http:",
    "http:/",
    "http:\\\\",
    "http:///",
    "http:////",
    "http://\\",
    "//",
    "",
    "HTTP://",
    "hTTp://",
    " http://",
    "\thttp://",
    "ht\ntp://",
    "http:\r\n//",
  ].map((scheme) => `${scheme}127.0.0.1:${port}/`),
  ...["gopher", "ftp", "file", "ws", "dict", "ldap", "jar:http", "url:http", "view-source:http"].map(
    (scheme) => `${scheme}://127.0.0.1:${port}/`,
  ),
  ...["127.0\t.0.1", "127.0.0.1\n", "127.0.0.1 ", "127.\r0.0.1", "127.0.0.1\0", "127.0.0.1\u3000"].map((host) => `http://${host}:${port}/`),
  ...[
    `127.0.0.1:0${port}`,
    `127.0.0.1:${port + 65_536}`,
    `127.0.0.1:${port}:80`,
    `127.0.0.1:${port}@`,
    `[::1]:${port}.`,
    `::1:${port}`,
  ].map((at) => `http://${at}/`),
  `https://127.0.0.1:${port}/`,
  `https://[::ffff:127.0.0.1]:${port}/`,
  "http://127.0.0.1",
  "http://[::1]",
];

/** Spellings of refused addresses as URLs of that port, each one once. */
export function hostileUrls(port: number): string[] {
  const ipv6 = [...every(IPV6_WRAPPINGS), ...IPV6].map((address) => `[${address}]`);
  const hosts = [...every(IPV4_SPELLINGS), ...IPV4_MORE, ...ipv6, ...NAMES];
  return [...new Set([...hosts.map((host) => `http://${host}:${port}/hook`), ...tricksAt(port)])];
}
