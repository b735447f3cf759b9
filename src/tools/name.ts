// Names models call tools by: safe for every provider, unique, and dependent on nothing but server and tool.
import { createHash } from "node:crypto";
import type { ToolId } from "./tool.js";

const MAX_LENGTH = 64;
const HASH_LENGTH = 8;
const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";

/**
 * `mcp__server__tool`. A hash of both names is appended whenever the plain form would lose something (characters
 * replaced, separators that could be misread, a cut), never because of what else is connected.
 */
export function mcpToolId(server: string, tool: string): ToolId {
  const short = `mcp__${server}__${tool}`;
  if (short.length <= MAX_LENGTH && isClean(server) && isClean(tool)) return toolId(short);
  const parts = [server, tool].map((part) => part.replaceAll(/[^A-Za-z0-9_-]/gu, "_"));
  const plain = `mcp__${parts.join("__")}`;
  return toolId(`${plain.slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${hashOf(server, tool)}`);
}

/** For tools of Tenon itself, which have their own names: no other source can reach them, all of theirs start `mcp__`. */
export function plainToolId(name: string): ToolId {
  if (!/^(?!mcp__)[A-Za-z0-9_-]{1,64}$/u.test(name)) throw new Error(`"${name}" is no name for a built-in tool`);
  return toolId(name);
}

/** Nothing has to be replaced, and nothing could be misread. */
function isClean(part: string): boolean {
  return /^[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*$/.test(part);
}

function hashOf(server: string, tool: string): string {
  const digest = createHash("sha256").update(`${server}\0${tool}`).digest();
  let bits = 0n;
  for (const byte of digest.subarray(0, 5)) bits = (bits << 8n) | BigInt(byte);
  let text = "";
  for (let index = 0; index < HASH_LENGTH; index++) {
    text = BASE32.charAt(Number(bits & 31n)) + text;
    bits >>= 5n;
  }
  return text;
}

function toolId(text: string): ToolId {
  return text as ToolId;
}
