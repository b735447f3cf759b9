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
  const parts = [server, tool].map((part) => part.replaceAll(/[^A-Za-z0-9_-]/gu, "_"));
  const plain = `mcp__${parts.join("__")}`;
  const isLossy = parts.some((part, index) => part !== [server, tool][index] || !isClear(part));
  if (!isLossy && plain.length <= MAX_LENGTH) return toolId(plain);
  return toolId(`${plain.slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${hashOf(server, tool)}`);
}

function isClear(part: string): boolean {
  return part !== "" && !part.includes("__") && !part.startsWith("_") && !part.endsWith("_");
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
