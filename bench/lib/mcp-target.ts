// What a measured MCP client is pointed at, and how it is asked to call.

import { isJsonObject, type JsonObject, type JsonValue } from "../../src/base/json/json.js";
import { base64Bytes } from "../../src/base/text/content.js";

export type Target =
  | { readonly kind: "stdio"; readonly command: string; readonly args: readonly string[] }
  | { readonly kind: "http"; readonly url: string };

/** What the raw server of the benches is started with. */
export interface ServerSettings {
  readonly transport?: "stdio" | "http";
  /** Of its tools: the first three are `echo`, `image` and `structured`. */
  readonly toolCount?: number;
  readonly pageSize?: number;
  /** Its tools are not those of another server: their descriptions have its name in them. */
  readonly isDistinct?: boolean;
  readonly isModern?: boolean;
  /** Before it reads its first message. */
  readonly delayMs?: number;
  /** `hang`: never answers anything. `exit`: ends with code 1 at once. */
  readonly fault?: "hang" | "exit";
  /** A file that gets a line with `name` for each start. */
  readonly spawnLog?: string;
  readonly name?: string;
}

/** One connected client, whatever it is made of. */
export interface BenchClient {
  /** The size of the first block of the result: characters of a text, bytes of an image. Rejects when there is none. */
  call(tool: string, args: JsonObject): Promise<number>;
  close(): Promise<void>;
}

export function payloadSize(result: JsonValue | undefined): number {
  const content = isJsonObject(result) ? result["content"] : undefined;
  const block = Array.isArray(content) ? content[0] : undefined;
  const { text, data } = isJsonObject(block) ? block : {};
  if (typeof text === "string") return text.length;
  if (typeof data === "string") return base64Bytes(data);
  throw new Error("the result has no payload");
}
