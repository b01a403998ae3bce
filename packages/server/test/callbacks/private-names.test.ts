import { expect, test } from "vitest";
import { runSynchronously } from "#kernel";
import { createAddressGuard, type Response, Sender } from "#outbound";
import { classify } from "../../src/callbacks/classify.ts";

type Resolve = NonNullable<Parameters<typeof createAddressGuard>[1]>;

const absent: Resolve = (hostname, _options, callback) =>
  callback(Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: "ENOTFOUND", syscall: "getaddrinfo", hostname }), []);
const at =
  (...addresses: string[]): Resolve =>
  (_hostname, _options, callback) =>
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );

async function resultOf(resolve: Resolve, host = "name.example"): Promise<unknown> {
  const sender = new Sender(createAddressGuard({ allowLoopback: false, allowed: [] }, resolve));
  const response = await new Promise<Response>((done) => {
    sender.send({ origin: `http://${host}:9`, path: "/", headers: {}, body: Buffer.from("{}"), maxBodyBytes: 1_000 }, done);
  });
  await sender.close();
  return runSynchronously(classify(response, 0, null));
}

test.for([["10.0.0.1"], ["127.0.0.1"], ["169.254.169.254"], ["fd00::1"], ["93.184.216.34", "10.0.0.1"]])(
  "a name that resolves to %j fails like one that does not exist",
  async (addresses) => {
    expect(await resultOf(at(...addresses))).toEqual(await resultOf(absent));
    expect(await resultOf(at(...addresses))).toEqual({
      kind: "unreachable",
      code: "DNS",
      message: "The name of the host cannot be resolved.",
      unbegun: true,
    });
  },
);

test.for(["10.0.0.1", "[::1]", "localhost", "metadata.google.internal"])(
  "%s, which the tenant wrote, is reported as blocked",
  async (host) => {
    expect(await resultOf(absent, host)).toMatchObject({ kind: "unreachable", code: "BLOCKED_ADDRESS" });
  },
);
