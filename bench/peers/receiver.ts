import { createServer } from "node:net";
import { onMessages } from "../framing.ts";

/**
 * The receiver of callbacks: answers every request with 200 as cheaply as Node can, so that it is not what is measured.
 */
const ANSWER = Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");

const server = createServer((socket) => {
  socket.setNoDelay(true);
  socket.on("error", () => {});
  onMessages(socket, () => socket.write(ANSWER));
});
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as { port: number }).port }));
process.on("disconnect", () => process.exit(0));
