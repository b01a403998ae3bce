import { createServer } from "node:net";
import { onMessages } from "../framing.ts";

/**
 * The receiver of callbacks: answers every request with 200 as cheaply as Node can, so that it is not what is measured. Asked, it says how many
 * there were.
 */
const ANSWER = Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");

let requests = 0;
const server = createServer((socket) => {
  socket.setNoDelay(true);
  socket.on("error", () => {});
  onMessages(socket, () => {
    requests += 1;
    socket.write(ANSWER);
  });
});
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as { port: number }).port }));
process.on("message", () => process.send?.({ requests }));
process.on("disconnect", () => process.exit(0));
