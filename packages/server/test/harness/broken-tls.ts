import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { onTestFinished } from "vitest";

/** Nobody trusts it: it is signed by itself. */
export const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBfzCCASWgAwIBAgIUHlEH+jcU+Xa8tWDjyYScgYdJI3gwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJMTI3LjAuMC4xMCAXDTI2MTEzMDEyNTc0OVoYDzIxMjYxMTA2
MTI1NzQ5WjAUMRIwEAYDVQQDDAkxMjcuMC4wLjEwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQCKFFIGEAA01o29KqIj0i0v57DMHSo38P7RTM9nyXiBqnWvlSH7pv9
QeggHyG4AOKjVKn7JBXiKVk/qNagc1Myo1MwUTAdBgNVHQ4EFgQUj7X5I6vjV4QO
J2bje43hnCqgLVAwHwYDVR0jBBgwFoAUj7X5I6vjV4QOJ2bje43hnCqgLVAwDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiAV44GveVShhgBDsRJMYb4j
YfJauV4SOIGUsIpav5sS5gIhAKMeRMnXU1F2BRLNXRifYrWLxOrPIhbKo/eU5Nd5
W9S7
-----END CERTIFICATE-----`;
export const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgJq1tBaOmWkX1vTtv
uGXCIwnmCcX2WLC/1gXz95FvH1qhRANCAAQCKFFIGEAA01o29KqIj0i0v57DMHSo
38P7RTM9nyXiBqnWvlSH7pv9QeggHyG4AOKjVKn7JBXiKVk/qNagc1My
-----END PRIVATE KEY-----`;

/** What keeps TLS connections from being made. The server closes them during the handshake, never responds, or speaks plain HTTP. */
export type Fault = "closes" | "hangs" | "plain" | "untrusted";

/** Listens at an address with which no TLS connection can be made, until the test has finished. Returns its URL. */
export async function brokenTls(fault: Fault): Promise<string> {
  const sockets = new Set<Socket>();
  const server: Server =
    fault === "untrusted"
      ? createTlsServer({ cert: CERTIFICATE, key: KEY })
      : createServer((socket) => {
          if (fault === "closes") socket.once("data", () => socket.destroy());
          if (fault === "plain") socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
        });
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}
