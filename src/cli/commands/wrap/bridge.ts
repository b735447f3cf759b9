// `tenon wrap --bridge`: what a wrapped agent starts as a server; carries its messages to the wrapper, which has the real one.
import { request } from "node:http";
import type { Duplex } from "node:stream";
import { BRIDGE_PROTOCOL, BRIDGE_TOKEN } from "../../../base/bridge.js";

/** `address`: the path of a socket, or `127.0.0.1:PORT`. Resolves with the exit code when either side is gone. */
export async function runBridge(address: string): Promise<number> {
  const { [BRIDGE_TOKEN]: token = "" } = process.env;
  const port = /^127\.0\.0\.1:(\d+)$/u.exec(address)?.[1];
  const place = port === undefined ? { socketPath: address } : { host: "127.0.0.1", port: Number(port) };
  const headers = { connection: "Upgrade", upgrade: BRIDGE_PROTOCOL, authorization: `Bearer ${token}` };
  return await new Promise<number>((resolve) => {
    const fail = (why: string) => {
      process.stderr.write(`tenon wrap --bridge: ${why}\n`);
      resolve(1);
    };
    const asked = request({ ...place, path: "/", headers });
    asked.on("error", (error) => fail(`the wrapper cannot be reached: ${error.message}`));
    asked.on("response", ({ statusCode }) => fail(`the wrapper does not know this server (${statusCode})`));
    asked.on("upgrade", (_response, socket: Duplex, head: Buffer) => {
      socket.on("error", () => {});
      socket.once("close", () => resolve(0));
      process.stdout.on("error", () => socket.destroy());
      process.stdin.on("error", () => socket.destroy());
      process.stdin.pipe(socket);
      process.stdout.write(head);
      socket.pipe(process.stdout, { end: false });
    });
    asked.end();
  });
}
