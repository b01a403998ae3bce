import { createServer } from "node:net";
import { onMessages } from "../framing.ts";

/**
 * The receiver of callbacks: answers every request with 200 as cheaply as Node can, so that it is not what is measured. Told
 * "count" over IPC it says how many it has answered.
 */
const ANSWER = Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
let answered = 0;

const server = createServer((socket) => {
  socket.setNoDelay(true);
  socket.on("error", () => {});
  onMessages(socket, () => {
    answered += 1;
    socket.write(ANSWER);
  });
});
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as { port: number }).port }));
process.on("message", () => process.send?.({ answered }));
process.on("disconnect", () => process.exit(0));
