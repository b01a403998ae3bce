import type { LookupAddress } from "node:dns";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import fc from "fast-check";
import { Agent, request } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readAddressRange, readConfig } from "#kernel";
import { BlockedAddressError, createAddressGuard, literalAddress } from "../../src/outbound/address-guard.ts";

const strict = createAddressGuard({ allowLoopback: false, allowed: [] });
const guardWith = (...allowed: string[]) => createAddressGuard({ allowLoopback: false, allowed });

test.each([
  ["IPv4", "8.8.8.8 1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 128.0.0.0 169.253.255.255 172.15.255.255"],
  ["IPv4", "172.32.0.0 192.0.1.0 192.167.255.255 198.17.255.255 198.20.0.0 223.255.255.255"],
  ["IPv6", "2606:4700::1111 2001:4860:4860::8888 2001:200::1 2003::1 3ffe::1 2a00:1450::1"],
  ["mapped", "::ffff:8.8.8.8 ::FFFF:808:808 0:0:0:0:0:ffff:8.8.8.8"],
])("addresses of the internet may be reached, %s: %s", (_, addresses) => {
  expect(addresses.split(" ").filter((address) => !strict.allows(address))).toEqual([]);
});

describe("what is refused", () => {
  test.each([
    ["private", "10.0.0.0 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1"],
    ["loopback", "127.0.0.1 127.255.255.255 ::1 0:0:0:0:0:0:0:1 ::1%lo"],
    ["link-local", "169.254.0.1 fe80::1 fe80::1%eth0 febf::1"],
    ["metadata hosts", "169.254.169.254 fd00:ec2::254 100.100.100.200 168.63.129.16 192.0.0.192"],
    ["carrier-grade NAT", "100.64.0.0 100.127.255.255"],
    ["multicast and broadcast", "224.0.0.1 239.255.255.255 255.255.255.255 ff02::1"],
    ["this host", "0.0.0.0 0.255.255.255 :: 0:0::0"],
    ["documentation", "192.0.2.1 198.51.100.1 203.0.113.1 2001:db8::1 3fff:fff::1"],
    ["benchmarks", "198.18.0.1 198.19.255.255 2001:2::1"],
    ["reserved", "240.0.0.1 254.1.1.1 192.0.0.1 100::1 4000::1 5f00::1"],
    ["unique local and site-local", "fc00::1 fdff::1 fec0::1 feff::1"],
    ["NAT64, 6to4, Teredo", "64:ff9b::8.8.8.8 64:ff9b:1::1 2002:808:808::1 2001::1 192.88.99.1"],
    ["mapped", "::ffff:127.0.0.1 ::ffff:7f00:1 ::FFFF:a00:1 ::ffff:169.254.169.254%1 ::ffff:0.0.0.0"],
    ["v4-compatible and translated", "::127.0.0.1 ::8.8.8.8 ::ffff:0:8.8.8.8"],
    ["no address", " localhost 1.2.3 01.2.3.4 8.8.8.8%1 8.8.8.8\0 8.8.8.8\n ::g [::1] 2a00::1%"],
  ])("refused addresses are not reached, %s: %s", (_, addresses) => {
    expect(addresses.split(" ").filter((address) => strict.allows(address))).toEqual([]);
  });

  test("an address of this machine is not refused when loopback is allowed", () => {
    const guard = createAddressGuard({ allowLoopback: true, allowed: [] });
    const addresses = "127.0.0.1 127.9.9.9 ::1 ::1%lo ::ffff:127.0.0.1 0.0.0.0 :: ::127.0.0.1 10.0.0.1".split(" ");
    expect(addresses.filter((address) => guard.allows(address))).toEqual(addresses.slice(0, 5));
  });
});

describe("the allowed list wins", () => {
  test.each([
    ["10.0.0.0/8", ["10.1.2.3", "::ffff:10.1.2.3"], ["192.168.0.1", "::10.1.2.3", "a00::1"]],
    ["169.254.169.254", ["169.254.169.254"], ["169.254.169.253"]],
    ["0.0.0.0/0", ["127.0.0.1", "::ffff:10.0.0.1"], ["::1", "fd00::1"]],
    ["::/0", ["::1", "fd00::1", "fe80::1%eth0", "::127.0.0.1"], ["127.0.0.1", "::ffff:127.0.0.1"]],
    ["fd00::/8", ["fd12::1"], ["fc00::1"]],
    ["::ffff:10.0.0.0/104", ["10.1.2.3", "::ffff:10.1.2.3"], ["::10.1.2.3", "192.168.0.1"]],
    ["64:ff9b::/96", ["64:ff9b::808:808"], ["64:ff9b:1::1"]],
  ])("the allowed list wins: %s", (entry, allowed, refused) => {
    const guard = guardWith(entry);
    expect([...allowed, ...refused].filter((address) => guard.allows(address))).toEqual(allowed);
  });

  const spelled = (value: bigint) => (value.toString(16).padStart(32, "0").match(/..../g) ?? []).join(":");
  const dotted = (value: number) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join(".");
  const word = fc.bigInt({ min: 0n, max: (1n << 128n) - 1n });

  test("the allowed list wins by bits, for any range", () => {
    const close = fc.tuple(word, fc.nat(128), fc.nat(127));
    fc.assert(
      fc.property(close, ([network, prefix, flipped]) => {
        fc.pre(network >> 32n !== 0xffffn && (network ^ (1n << BigInt(flipped))) >> 32n !== 0xffffn);
        const guard = guardWith(`${spelled(network)}/${prefix}`);
        const other = spelled(network ^ (1n << BigInt(flipped)));
        expect(guard.allows(other)).toBe(flipped < 128 - prefix || strict.allows(other));
      }),
    );
    fc.assert(
      fc.property(fc.nat(0xffffffff), fc.nat(32), fc.nat(31), (network, prefix, flipped) => {
        const guard = guardWith(`${dotted(network)}/${prefix}`);
        const other = dotted(network ^ (1 << flipped));
        const expected = flipped < 32 - prefix || strict.allows(other);
        expect([guard.allows(other), guard.allows(`::ffff:${other}`)]).toEqual([expected, expected]);
      }),
    );
  });
});

test.each([
  ["", []],
  [" , ", []],
  ["10.0.0.0/8, ::1", ["10.0.0.0/8", "::1"]],
])("the list %j is read", (text, expected) => expect(readConfig({ TIDEMILL_ALLOW_ADDRESSES: text }).allowAddresses).toEqual(expected));

test("a list entry that is neither address nor range is named", () => {
  const bad = "localhost 10.0.0.0/33 ::/129 10.0.0.0/ 10.0.0.0/8/8 10.0.0.0/-1 10.0.0.0/0x8 10.0.0/8 fe80::1%eth0 10.0.0.0/8;::1";
  for (const entry of bad.split(" ")) expect(() => readAddressRange(entry)).toThrow(`"${entry}" is neither`);
});

test.each([
  ["http://0x7f.1/", "127.0.0.1"],
  ["http://2130706433/", "127.0.0.1"],
  ["http://017700000001/", "127.0.0.1"],
  ["http://127.0.0.1./", "127.0.0.1"],
  ["http://１２７.0.0.1/", "127.0.0.1"],
  ["http://[::ffff:127.0.0.1]/", "::ffff:7f00:1"],
  ["http://[::1]/", "::1"],
  ["http://example.com/", null],
  ["http://localhost/", null],
])("the literal address %s is decided about as it is", (url, expected) => expect(literalAddress(new URL(url).hostname)).toBe(expected));

describe("connecting", () => {
  const names: Record<string, string[]> = {
    "good.test": ["127.0.0.1"],
    "dual.test": ["::1", "127.0.0.1"],
    "mixed.test": ["127.0.0.1", "10.0.0.1"],
    "inner.test": ["10.0.0.1"],
    "": [],
  };
  const resolved: string[] = [];
  const guard = createAddressGuard({ allowLoopback: true, allowed: [] }, (hostname, _options, callback) => {
    resolved.push(hostname);
    const addresses = names[hostname]?.map((address): LookupAddress => ({ address, family: address.includes(":") ? 6 : 4 }));
    if (addresses) callback(null, addresses);
    else callback(Object.assign(new Error("no such name"), { code: "ENOTFOUND" }), []);
  });
  const server = createServer((_, response) => response.end("reached"));
  let port = 0;
  beforeAll(async () => {
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(() => new Promise((closed) => server.close(closed)));

  const outcome = (host: string, autoSelectFamily: boolean) =>
    new Promise<unknown>((settle) => {
      const socket = connect({ host, port, autoSelectFamily, lookup: guard.lookup });
      socket.once("connect", () => socket.end(() => settle(socket.remoteAddress ?? "connected")));
      socket.once("error", (error: NodeJS.ErrnoException) => settle(error.code));
    });

  test.each([
    ["good.test", true, "127.0.0.1"],
    ["good.test", false, "127.0.0.1"],
    ["dual.test", true, "127.0.0.1"],
    ["mixed.test", true, "BLOCKED_ADDRESS"],
    ["mixed.test", false, "BLOCKED_ADDRESS"],
    ["inner.test", true, "BLOCKED_ADDRESS"],
    ["unknown.test", true, "ENOTFOUND"],
  ])("a connection to %s, autoSelectFamily %s, is decided about by address: %s", async (host, autoSelectFamily, expected) => {
    resolved.length = 0;
    expect(await outcome(host, autoSelectFamily)).toBe(expected);
    expect(resolved).toEqual([host]);
  });

  test("a connection through undici is decided about by address", async () => {
    const dispatcher = new Agent({ connect: { lookup: guard.lookup } });
    const good = await request(`http://dual.test:${port}/`, { dispatcher });
    expect(await good.body.text()).toBe("reached");
    const refused = request(`http://mixed.test:${port}/`, { dispatcher });
    await expect(refused).rejects.toMatchObject({ code: "BLOCKED_ADDRESS", address: "10.0.0.1" });
    await expect(refused).rejects.toBeInstanceOf(BlockedAddressError);
    await dispatcher.close();
  });

  test("a connection to an empty name is refused", () => {
    guard.lookup("", {}, (error) => expect(error).toMatchObject({ code: "BLOCKED_ADDRESS", address: null }));
    expect.assertions(1);
  });

  test("a refusal does not tell what the name resolves to", () => {
    expect(new BlockedAddressError("inner.test", "10.0.0.1").message).not.toContain("10.0.0.1");
  });
});
