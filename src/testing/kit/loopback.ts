// HTTP servers of tests: on 127.0.0.1, on a free port, and really closed at the end.
import type { IncomingMessage, Server } from "node:http";

/** Resolves with the origin, `http://127.0.0.1:<port>`, or at another address of this machine. */
export async function listenOnLoopback(server: Server, host = "127.0.0.1"): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return `http://${host}:${address.port}`;
}

/** Connections kept alive by clients would hold a plain `close` open. */
export async function closeListener(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) {
    if (chunk instanceof Uint8Array) chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
