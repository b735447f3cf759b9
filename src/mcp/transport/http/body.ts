// Reads the body of an answer, capped, and says how it ended.
import type { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { MCP_LIMITS } from "../../limits.js";
import { Gathered } from "./gathered.js";

export type Body =
  | { readonly kind: "whole"; readonly bytes: Buffer }
  /** Over the cap; what was read is dropped and the rest is not waited for. */
  | { readonly kind: "too_large" }
  /** It broke off. */
  | { readonly kind: "broken"; readonly error: Error };

/** `done` is called exactly once, unless the answer is destroyed from our side. */
export function readBody(response: IncomingMessage, maxBytes: number, done: (body: Body) => void): void {
  const gathered = new Gathered(maxBytes);
  let isDone = false;
  const end = (body: Body) => {
    if (isDone) return;
    isDone = true;
    done(body);
  };
  const isAnnounced = Number(response.headers["content-length"] ?? 0) > maxBytes;
  response.on("data", (chunk: Buffer) => {
    if (isDone) return;
    gathered.add(chunk);
    if (gathered.droppedBytes === 0) return;
    end({ kind: "too_large" });
    response.destroy();
  });
  response.on("end", () => end({ kind: "whole", bytes: gathered.take() }));
  response.on("error", (error: Error) => end({ kind: "broken", error }));
  response.on("close", () => end({ kind: "broken", error: new Error("the connection was closed") }));
  if (!isAnnounced) return;
  end({ kind: "too_large" });
  response.destroy();
}

/** Lets a body go by that nobody reads, so that its connection can be used again; a long one costs the connection. */
export function drain(response: IncomingMessage): void {
  let bytes = 0;
  response.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MCP_LIMITS.httpMaxErrorBytes) response.destroy();
  });
}

/** The media type without its parameters, in lower case; empty when there is none. */
export function mediaType(response: IncomingMessage): string {
  const given = response.headers["content-type"] ?? "";
  if (given === "application/json" || given === "text/event-stream") return given; // every call asks
  return given.split(";")[0]?.trim().toLowerCase() ?? "";
}
