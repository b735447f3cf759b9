// What prompts and results of tools may consist of, checked first: a program in plain JavaScript is held to no type.
import { TenonError } from "../base/errors.js";
import type { ContentBlock } from "../base/text/content.js";

/** By the kind of a block, the texts it cannot be without. */
const REQUIRED: Readonly<Record<ContentBlock["type"], readonly string[]>> = {
  text: ["text"],
  image: ["data", "mimeType"],
  audio: ["data", "mimeType"],
  resource: ["uri"],
  resource_link: ["uri", "name"],
  spilled: ["kind", "path", "preview"],
  unknown: ["kind"],
};

const KINDS: ReadonlyMap<unknown, readonly string[]> = new Map(Object.entries(REQUIRED));

/** Throws `session.invalid_request` for what is no content of a prompt. */
export function checkContent(content: unknown): void {
  if (typeof content === "string") return;
  if (!Array.isArray(content)) throw malformed("the content of a prompt must be a text or a list of blocks");
  const problem = contentProblem(content);
  if (problem !== undefined) throw malformed(`in the prompt, ${problem}`);
}

/** The first block that is none, and why. */
export function contentProblem(content: readonly unknown[]): string | undefined {
  for (const [index, block] of content.entries()) {
    const problem = blockProblem(block);
    if (problem !== undefined) return `block ${index} ${problem}`;
  }
  return undefined;
}

function blockProblem(block: unknown): string | undefined {
  if (typeof block !== "object" || block === null) return "must be an object with a type";
  const fields: ReadonlyMap<string, unknown> = new Map(Object.entries(block));
  const type = fields.get("type");
  const required = KINDS.get(type);
  if (!required) return `must have one of these types: ${[...KINDS.keys()].join(", ")}`;
  const missing = required.find((name) => typeof fields.get(name) !== "string");
  if (missing !== undefined) return `must have a text as its "${missing}"`;
  const hasContent = typeof fields.get("text") === "string" || typeof fields.get("blob") === "string";
  return type === "resource" && !hasContent ? 'must have a text as its "text" or its "blob"' : undefined;
}

function malformed(message: string): TenonError {
  return new TenonError("session.invalid_request", message);
}
