// A server's prompts, resources and resource templates, and its completions: listed and read, whatever shape they come in.
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";
import type { ContentBlock } from "../../base/text/content.js";
import { MCP_LIMITS } from "../limits.js";
import { readContent, readContents } from "./call.js";
import { type Link, outcomeError } from "./link.js";
import { type Listing, type ListKind, listAll, type ReadEntry, textField } from "./lists.js";

interface Described {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
}

export interface McpResource extends Described {
  readonly uri: string;
  readonly size?: number;
}

export interface McpResourceTemplate extends Described {
  readonly uriTemplate: string;
}

export interface AskOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs?: number;
}

const RESOURCES: ListKind<McpResource> = {
  method: "resources/list",
  field: "resources",
  capability: "resources",
  noun: "resource",
  read: (raw) =>
    readDescribed(raw, "uri", (uri, described, { size }) => {
      return { uri, ...described, ...defined({ size: typeof size === "number" ? size : undefined }) };
    }),
};

const TEMPLATES: ListKind<McpResourceTemplate> = {
  method: "resources/templates/list",
  field: "resourceTemplates",
  capability: "resources",
  noun: "resource template",
  read: (raw) => readDescribed(raw, "uriTemplate", (uriTemplate, described) => ({ uriTemplate, ...described })),
};

/** Throws a TenonError when the server gave no list. */
export function listResources(link: Link, world: World, signal: AbortSignal): Promise<Listing<McpResource>> {
  return listAll(link, world, RESOURCES, signal);
}

/** Empty for the many servers that declare resources and know no templates. */
export function listResourceTemplates(
  link: Link,
  world: World,
  signal: AbortSignal,
): Promise<Listing<McpResourceTemplate>> {
  return listAll(link, world, TEMPLATES, signal);
}

/** Throws a TenonError when there is nothing to be had. One resource may have several contents. */
export async function readResource(link: Link, uri: string, options: AskOptions): Promise<readonly ContentBlock[]> {
  const { signal, timeoutMs = LIMITS.callTimeoutMs } = options;
  const outcome = await link.request("resources/read", { uri }, { signal, timeoutMs, hint: { name: uri } });
  if (outcome.kind !== "result") throw outcomeError(outcome, `resource ${uri}`);
  return readContents(outcome.result["contents"]);
}

function readDescribed<T>(
  raw: JsonValue | undefined,
  key: string,
  make: (id: string, described: Described, raw: JsonObject) => T,
): ReadEntry<T> {
  if (!isJsonObject(raw)) return { ok: false, name: "?", reason: "the entry is not an object" };
  const id = textField(raw, key);
  const name = textField(raw, "name");
  if (id === undefined || id === "") return { ok: false, name: name ?? "?", reason: `it has no ${key}` };
  if (id.length > MCP_LIMITS.uriMaxChars) return { ok: false, name: name ?? "?", reason: `its ${key} is too long` };
  const title = textField(raw, "title");
  const description = textField(raw, "description");
  const mimeType = textField(raw, "mimeType");
  const described: Described = {
    name: name ?? id,
    ...defined({ title, description, mimeType }),
  };
  return { ok: true, key: id, item: make(id, described, raw) };
}

export interface McpPromptArgument {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly isRequired: boolean;
}

export interface McpPrompt {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly arguments: readonly McpPromptArgument[];
}

export interface McpPromptMessage {
  readonly role: "user" | "assistant";
  readonly content: readonly ContentBlock[];
}

export interface McpPromptText {
  readonly description?: string;
  readonly messages: readonly McpPromptMessage[];
}

/** What an argument belongs to: a prompt, or a resource template by its URI. */
export type CompletionTarget =
  | { readonly kind: "prompt"; readonly name: string }
  | { readonly kind: "resource"; readonly uri: string };

export interface CompletionRequest {
  readonly target: CompletionTarget;
  readonly argument: { readonly name: string; readonly value: string };
  /** Arguments that are already filled in. */
  readonly given?: Readonly<Record<string, string>>;
}

export interface Completion {
  readonly values: readonly string[];
  readonly total?: number;
  readonly hasMore: boolean;
}

const PROMPTS: ListKind<McpPrompt> = {
  method: "prompts/list",
  field: "prompts",
  capability: "prompts",
  noun: "prompt",
  read: readPrompt,
};

/** Throws a TenonError when the server gave no list. */
export function listPrompts(link: Link, world: World, signal: AbortSignal): Promise<Listing<McpPrompt>> {
  return listAll(link, world, PROMPTS, signal);
}

/** Throws a TenonError when the server gives none. */
export async function getPrompt(
  link: Link,
  name: string,
  args: Readonly<Record<string, string>>,
  options: AskOptions,
): Promise<McpPromptText> {
  const { signal, timeoutMs = LIMITS.callTimeoutMs } = options;
  const params = { name, arguments: args };
  const outcome = await link.request("prompts/get", params, { signal, timeoutMs, hint: { name } });
  if (outcome.kind !== "result") throw outcomeError(outcome, `prompt ${name}`);
  const { messages } = outcome.result;
  const description = textField(outcome.result, "description");
  return {
    ...defined({ description }),
    messages: Array.isArray(messages) ? messages.map((message: JsonValue) => readMessage(message)) : [],
  };
}

/** Nothing to offer is no error: neither from a server without completions nor from one that fails. */
export async function complete(link: Link, request: CompletionRequest, options: AskOptions): Promise<Completion> {
  const none: Completion = { values: [], hasMore: false };
  const { signal, timeoutMs = LIMITS.callTimeoutMs } = options;
  const { target, argument, given } = request;
  const ref: JsonObject =
    target.kind === "prompt" ? { type: "ref/prompt", name: target.name } : { type: "ref/resource", uri: target.uri };
  const params = { ref, argument, ...defined({ context: given ? { arguments: given } : undefined }) };
  const outcome = await link.request("completion/complete", params, { signal, timeoutMs });
  const completion = outcome.kind === "result" ? outcome.result["completion"] : undefined;
  if (!isJsonObject(completion)) return none;
  const { values, total, hasMore } = completion;
  return {
    values: Array.isArray(values) ? values.filter((value) => typeof value === "string") : [],
    ...defined({ total: typeof total === "number" ? total : undefined }),
    hasMore: hasMore === true,
  };
}

function readPrompt(raw: JsonValue | undefined): ReadEntry<McpPrompt> {
  if (!isJsonObject(raw)) return { ok: false, name: "?", reason: "the entry is not an object" };
  const name = textField(raw, "name");
  if (name === undefined || name === "") return { ok: false, name: "?", reason: "it has no name" };
  if (name.length > LIMITS.nameMaxChars) return { ok: false, name, reason: "its name is too long" };
  const title = textField(raw, "title");
  const args = raw["arguments"];
  return {
    ok: true,
    key: name,
    item: {
      name,
      ...defined({ title }),
      description: textField(raw, "description") ?? "",
      arguments: Array.isArray(args) ? args.flatMap((arg: JsonValue) => readArgument(arg)) : [],
    },
  };
}

function readArgument(raw: JsonValue): McpPromptArgument[] {
  const name = isJsonObject(raw) ? textField(raw, "name") : undefined;
  if (!isJsonObject(raw) || name === undefined) return [];
  const title = textField(raw, "title");
  const description = textField(raw, "description");
  return [
    {
      name,
      ...defined({ title, description }),
      isRequired: raw["required"] === true,
    },
  ];
}

function readMessage(raw: JsonValue): McpPromptMessage {
  if (!isJsonObject(raw)) return { role: "user", content: readContent([raw]) };
  return { role: raw["role"] === "assistant" ? "assistant" : "user", content: readContent(raw["content"]) };
}
